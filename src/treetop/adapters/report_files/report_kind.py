"""What the reports of one file are, and how the file says so: metadata with a digest that makes a changed word show."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.wire.report_batches import Envelope
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.registry import find_oracle
from treetop.trie.user_groups import Role

DIGEST = re.compile(r"[0-9a-f]{64}")
NO_DOMAIN = "0" * 64
ROLES = tuple(role.value for role in Role)


@dataclass(frozen=True)
class ReportKind:
    """Reports of different kinds are never counted together."""

    task: str
    """SHA-256 of the task, in lower-case hexadecimal digits."""
    level: int
    oracle: str
    slots: int
    """The number in the envelope: d with the dummy, or the buckets of a hash."""
    role: str = Role.ESTIMATE.value
    domain: str = NO_DOMAIN
    """SHA-256 of the candidate list whose slots these are; zeros where there is none."""

    def __post_init__(self) -> None:
        oracle = find_oracle(self.oracle)
        for what, digest in (("task", self.task), ("domain", self.domain)):
            if not DIGEST.fullmatch(digest):
                raise InvalidInput("digest_malformed", what=what, digest=digest)
        if self.role not in ROLES:
            raise UnknownName("role", self.role, ROLES)
        if not oracle.has_slots(self.slots):
            raise InvalidInput("report_kind_slots", oracle=self.oracle, slots_rule=oracle.slots_rule, slots=self.slots)
        if self.level < 1:
            raise InvalidInput("report_kind_level", level=self.level)

    @classmethod
    def of(cls, envelope: Envelope) -> "ReportKind":
        """Return the kind of file that a batch belongs into."""
        group = envelope.group
        oracle = envelope.oracle.name
        return cls(envelope.task.hex(), group.level, oracle, envelope.slots, group.role.value, envelope.domain.hex())

    @cached_property
    def counting(self) -> type[FrequencyOracle[Any]]:
        """Return what counts these reports."""
        return find_oracle(self.oracle).counting


CONTENTS = b"treetop.contents"
SEAL = b"treetop.seal"
FORMAT = 1


@dataclass(frozen=True)
class RowGroup:
    """What one worker reads at once: how many reports, and the CRC-32 of their values."""

    rows: int
    checksum: int


@dataclass(frozen=True)
class Contents:
    """The kind of a file's reports and its row groups."""

    kind: ReportKind
    groups: tuple[RowGroup, ...]


def sealed(contents: Contents) -> dict[bytes, bytes]:
    """Return the metadata of a file with these contents."""
    text = json.dumps({"format": FORMAT, **asdict(contents)}, sort_keys=True).encode()
    return {CONTENTS: text, SEAL: sha256(text).hexdigest().encode()}


def unsealed(metadata: Mapping[bytes, bytes] | None) -> Contents:
    """Return the contents that the metadata tell, or refuse metadata that were changed or are not ours."""
    if not metadata or CONTENTS not in metadata:
        raise InvalidInput("not_a_report_file")
    text = metadata[CONTENTS]
    if metadata.get(SEAL) != sha256(text).hexdigest().encode():
        raise InvalidInput("report_file_metadata")
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise InvalidInput("report_file_format", format=FORMAT, found=content["format"])
    return Contents(ReportKind(**content["kind"]), tuple(RowGroup(**group) for group in content["groups"]))
