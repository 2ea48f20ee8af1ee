"""What a report file says of itself, in its Parquet metadata, and the digest that makes a changed word show."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256

from treetop.adapters.report_files.report_kind import ReportKind
from treetop.errors import InvalidInput

CONTENTS, SEAL = b"treetop.contents", b"treetop.seal"
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
        raise InvalidInput("not a file of reports")
    text = metadata[CONTENTS]
    if metadata.get(SEAL) != sha256(text).hexdigest().encode():
        raise InvalidInput("its metadata were changed")
    told = json.loads(text)
    if told["format"] != FORMAT:
        raise InvalidInput(f"expected format {FORMAT}, found {told['format']}")
    return Contents(ReportKind(**told["kind"]), tuple(RowGroup(**group) for group in told["groups"]))
