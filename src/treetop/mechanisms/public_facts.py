"""What is public about one party's part in a query: messages and uploads are checked against it.

A party's counts travel as what they were computed from, the support among its reports: whoever reads them computes
count and error from the same whole numbers, and nothing that no report could give can be said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Member, Roster
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.strict_json import code_texts, codes, record, require, whole, wholes
from treetop.trie.support import Support

P_co = TypeVar("P_co", bound=Parameters, covariant=True)


@dataclass
class PublicFacts(Generic[P_co]):
    """What both sides know of one party, whatever the other one says next."""

    parameters: P_co
    roster: Roster
    member: Member
    lengths: tuple[int, ...]
    """l_0 .. l_g: the bits that the candidates of every level have."""
    max_slots: int
    """No list of candidates is longer, the dummy counted."""
    max_reports: Mapping[int, int] = field(default_factory=dict)
    """Devices of every level, all roles together; the server's side alone asks."""
    slots: dict[int, int] = field(default_factory=dict)
    """d of every list that was signed for the estimate of a level (rounds)."""
    messages: list[object] = field(default_factory=list)
    """The mechanism's messages to this party so far."""
    uploads: list[object] = field(default_factory=list)
    """The party's uploads so far."""

    @property
    def last_level(self) -> int:
        """Return g."""
        return len(self.lengths) - 1

    def max_candidates(self, level: int) -> int:
        """Return the candidates of a level at most: all prefixes of its length, or the longest list."""
        return min(1 << min(self.lengths[level], 40), self.max_slots - 1)


def encode_counts(support: Support) -> Any:
    """Run by the party: the support of prefixes, and the slots of the domain that they were counted in."""
    return {
        "prefixes": code_texts(support.candidates),
        "support": support.support.tolist(),
        "reports": support.reports,
        "domain": support.oracle.size,
    }


def decode_counts(
    facts: PublicFacts[Parameters], level: int, content: Any, *, asked: Codes | None = None, slots: int | None = None
) -> Support:
    """Run by the server: the support of a level's prefixes, or a refusal.

    Only positive estimates are sent, unless the server `asked` for the counts of some prefixes. The number of slots
    is checked where it is known: the caller's, or that of the list that was signed for the level.
    """
    fields = record("counts", content, {"prefixes", "support", "reports", "domain"})
    reports = whole("reports", fields["reports"], 0, facts.max_reports.get(level, 0))
    known = slots or facts.slots.get(level)
    least, most = (known, known) if known else (2, facts.max_candidates(level) + 1)
    domain = whole("slots of a domain", fields["domain"], least, most)
    length = facts.lengths[level]
    prefixes = codes("prefixes", fields["prefixes"], length, facts.parameters.bits, most=domain - 1)
    support = np.array(wholes("support", fields["support"], len(prefixes), 0, reports), dtype=np.int64)
    oracle = facts.parameters.oracle_for(domain - 1)
    if oracle.one_slot:
        require(int(support.sum()) <= reports, "support", f"{reports} reports in all", int(support.sum()))
    counted = Support(length, prefixes, support, reports, oracle, facts.member.users)
    if asked is None:
        require(len(counted.positive()) == len(counted), "support", "more than noise gives", "less")
    else:
        wanted = sorted(asked.tolist()) if reports else []
        same = wanted == sorted(prefixes.tolist())
        require(same, "prefixes", "those that were asked for", f"{len(prefixes)} others")
    return counted
