"""What the reports of one file are: of which task, level and role, through which oracle, over which slots."""

import re
from dataclasses import dataclass

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.optimized_local_hashing import MOST_BUCKETS
from treetop.oracles.registry import ORACLES
from treetop.trie.user_groups import Role

MOST_SLOTS = 1 << 23
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
    """d with the dummy for k-RR and OUE, d' for OLH."""
    role: str = Role.ESTIMATE.value
    domain: str = NO_DOMAIN
    """SHA-256 of the candidate list whose slots these are; zeros where there is none."""

    def __post_init__(self) -> None:
        if self.oracle not in ORACLES:
            raise UnknownName("oracle", self.oracle, ORACLES)
        for what, digest in (("task", self.task), ("domain", self.domain)):
            if not DIGEST.fullmatch(digest):
                raise InvalidInput(f"a {what} is named by 64 hexadecimal digits, found {digest!r}")
        if self.role not in ROLES:
            raise UnknownName("role", self.role, ROLES)
        most = MOST_BUCKETS if self.oracle == "olh" else MOST_SLOTS
        if not 2 <= self.slots <= most:
            raise InvalidInput(f"{self.oracle} has from 2 to {most} slots, found {self.slots}")
        if self.level < 1:
            raise InvalidInput(f"levels are counted from 1, found {self.level}")
