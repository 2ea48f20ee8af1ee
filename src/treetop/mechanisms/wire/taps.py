"""What TAPS sends: C_{g_s} with the lists of the party before, and from every party lists for the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Findings
from treetop.mechanisms.public_facts import PublicFacts, decode_counts, encode_counts
from treetop.mechanisms.strict_json import (
    DECIMAL_BYTES,
    MESSAGE_HEAD,
    code_bytes,
    code_texts,
    codes,
    decimals,
    optional,
    record,
    require,
    rows,
    text,
)
from treetop.mechanisms.wire.tap import SharedTrieWire
from treetop.trie.consensus_pruning import PruningCandidates

if TYPE_CHECKING:
    from treetop.mechanisms.taps import TapsParameters

PruningLists = Mapping[int, PruningCandidates]
"""D_i: the prefixes of every pruned level that party P_i found infrequent, and frequent."""


@dataclass(frozen=True)
class Continue:
    """Server to P_i: the shared trie, and the dictionary D_{i-1} of the party before.

    Where that party is missing, the last one that answered is the author.
    """

    shared: Codes | None
    D: PruningLists = field(default_factory=dict)
    author: str | None = None


@dataclass(frozen=True)
class PruningFindings(Findings):
    """P_i to the server: its heavy hitters, and D_i for the next party."""

    D: PruningLists = field(default_factory=dict)

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return super().bits + sum(lists.bits for lists in self.D.values())


class TapsWire(SharedTrieWire["TapsParameters"]):
    """A message is a `Continue`, the last upload `PruningFindings`."""

    def max_message_bytes(self, parameters: "TapsParameters") -> int:
        """Return the bytes of C_{g_s} and of D_{i-1}: for every pruned level 4k prefixes and 2k frequencies."""
        level = MESSAGE_HEAD + 2 * parameters.k * (2 * code_bytes(parameters.bits) + DECIMAL_BYTES)
        return super().max_message_bytes(parameters) + level * len(parameters.pruned_levels)

    def encode_message(self, message: object) -> Any:
        """Run by the server: C_{g_s} and D_{i-1}; nothing with the question for a shallow trie."""
        if message is None:
            return None
        said = cast(Continue, message)
        shared = None if said.shared is None else code_texts(said.shared)
        return {"shared": shared, "pruning": encode_lists(said.D), "author": said.author}

    def decode_message(self, facts: PublicFacts["TapsParameters"], content: Any) -> Continue | None:
        """Run by the party: C_{g_s} and D_{i-1} in answer to its shallow trie; before it nothing."""
        parameters = facts.parameters
        if len(facts.messages) + 1 < self.uploads(parameters):
            require(content is None, "message", "none", content)
            return None
        fields = record("message", content, {"shared", "pruning", "author"})
        length = parameters.lengths[parameters.shared_levels]
        shared = optional(codes, "shared prefixes", fields["shared"], length, parameters.bits, least=1)
        D = decode_lists(facts, fields["pruning"])
        return Continue(shared, D, optional(text, "author", fields["author"]))

    def encode_findings(self, facts: PublicFacts["TapsParameters"], findings: Findings) -> Any:
        """Run by the party: its heavy hitters and D_i."""
        D = cast(PruningFindings, findings).D
        return {"counted": encode_counts(findings.heavy_hitters), "pruning": encode_lists(D)}

    def decode_findings(self, facts: PublicFacts["TapsParameters"], content: Any) -> PruningFindings:
        """Run by the server: heavy hitters and D_i; from the last party no lists are expected."""
        fields = record("last upload", content, {"counted", "pruning"})
        counted = decode_counts(facts, facts.last_level, fields["counted"])
        if facts.roster.is_last(facts.member):
            record("pruning lists", fields["pruning"], set())
            return PruningFindings(counted)
        shared = cast(Continue, facts.messages[-1]).shared
        return PruningFindings(counted, D=decode_lists(facts, fields["pruning"], shared))


def encode_lists(D: PruningLists) -> Any:
    """Write D_i: the lists of every pruned level."""
    return {
        str(level): {
            "infrequent": code_texts(lists.infrequent),
            "frequent": code_texts(lists.frequent),
            "frequencies": lists.frequencies.tolist(),
        }
        for level, lists in D.items()
    }


def decode_lists(
    facts: PublicFacts["TapsParameters"], content: Any, shared: Codes | None = None
) -> dict[int, PruningCandidates]:
    """Read D_i: lists of 2k at most, for levels that are pruned, below the shared trie where there is one."""
    parameters = facts.parameters
    levels = {str(level): level for level in parameters.pruned_levels} if parameters.pruning else {}
    names = set(levels) & set(content) if type(content) is dict else set()
    fields = record("pruning lists", content, names)
    return {level: _decode_list(facts, level, fields[name], shared) for name, level in levels.items() if name in fields}


def _decode_list(
    facts: PublicFacts["TapsParameters"], level: int, content: Any, shared: Codes | None
) -> PruningCandidates:
    fields = record("pruning list", content, {"infrequent", "frequent", "frequencies"})
    parameters = facts.parameters
    length = facts.lengths[level]
    infrequent, frequent = (
        codes(f"{name} prefixes", fields[name], length, parameters.bits, least=1, most=2 * parameters.k)
        for name in ("infrequent", "frequent")
    )
    rows("infrequent prefixes", fields["infrequent"], len(frequent), len(frequent))
    above = largest_frequency(facts, level)
    frequencies = decimals("frequencies", fields["frequencies"], len(frequent), -above, above)
    if shared is not None:
        step = length - parameters.lengths[parameters.shared_levels]
        known = set(shared.tolist())
        below = all(prefix >> step in known for prefix in (*infrequent.tolist(), *frequent.tolist()))
        require(below, "prefixes of a pruning list", "those that the shared trie leads to", "others")
    return PruningCandidates(length, infrequent, frequent, frequencies)


def largest_frequency(facts: PublicFacts["TapsParameters"], level: int) -> float:
    """Return the largest estimate that any list of the level could give: all reports support one candidate.

    It grows with d under k-RR: the longest list decides, or the longest one that is asked by k-RR.
    """
    most = facts.max_candidates(level)
    sizes = (most, max(1, min(most, int(3 * facts.parameters.epsilon.odds))))
    oracles = [facts.parameters.oracle_for(size) for size in sizes]
    return max((1 - oracle.q) / (oracle.p - oracle.q) for oracle in oracles)
