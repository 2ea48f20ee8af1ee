"""Run by the server: reading what a party uploads, held against everything that is public (T6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.federation.messages import most_candidates, read_pruning
from treetop.federation.task import DeviceTask
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import Findings, Upload
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.shared_trie import is_shared
from treetop.mechanisms.strict_json import codes, optional, record, require, rows, whole, wholes
from treetop.mechanisms.strict_json import decimal as decimal_number
from treetop.mechanisms.summed_level import SharedCandidates
from treetop.mechanisms.taps import Continue
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.level_estimates import LevelEstimates
from treetop.trie.party_counts import FINEST
from treetop.trie.quantised_counts import LARGEST_VALUE, QuantisedCounts

SLACK = 1e-5
"""How far a deviation, sent in 32 bits, may be from the one that a whole number of reports gives."""


@dataclass
class PartyFacts:
    """What the server knows of one party, whatever that party says now."""

    task: DeviceTask
    parameters: Parameters
    roster: Roster
    member: Member
    most_reports: Mapping[int, int]
    """Devices of every level, all roles together."""
    slots: dict[int, int] = field(default_factory=dict)
    """d of every list that was signed for the estimate of a level (rounds)."""
    said: list[object] = field(default_factory=list)
    """The mechanism's messages to this party."""

    @property
    def last_level(self) -> int:
        """Return g."""
        return len(self.task.lengths) - 1

    @property
    def is_last_upload(self) -> bool:
        """Return whether the answer to the newest message is the party's last."""
        if self.task.mechanism == "canopy":
            return len(self.said) == self.last_level + 1
        return len(self.said) == (2 if self._in_two_steps else 1)

    @property
    def _in_two_steps(self) -> bool:
        return self.task.mechanism in {"tap", "taps"} and is_shared(self.parameters)


def read_upload(facts: PartyFacts, content: Any) -> Upload:
    """Return the answer to the newest message, or refuse it."""
    if not facts.is_last_upload and facts.task.mechanism == "canopy":
        return _read_quantised(facts, content)
    if not facts.is_last_upload:
        return _read_counts(facts, facts.parameters.shared_levels, content)
    fields = record("last upload", content, {"counted", "pruning"})
    counted = _read_counts(facts, facts.last_level, fields["counted"], _asked_for(facts))
    return Findings(counted, _read_dictionary(facts, fields["pruning"]))


def _asked_for(facts: PartyFacts) -> SharedCandidates | None:
    newest = facts.said[-1]
    return newest if isinstance(newest, SharedCandidates) else None


def _read_dictionary(facts: PartyFacts, content: Any) -> Any:
    """Read D_i of TAPS; from the last party, and in every other mechanism, nothing is expected."""
    newest = facts.said[-1]
    if isinstance(newest, Continue) and not facts.roster.is_last(facts.member):
        return read_pruning(facts.task, facts.parameters, content, newest.shared)
    return record("pruning lists", content, set())


def _read_counts(facts: PartyFacts, level: int, content: Any, asked: SharedCandidates | None = None) -> CountedPrefixes:
    fields = record("counts", content, {"prefixes", "support", "reports", "domain"})
    reports = whole("reports", fields["reports"], 0, facts.most_reports.get(level, 0))
    domain = _read_domain(facts, level, fields["domain"])
    length = facts.task.lengths[level]
    prefixes = codes("prefixes", fields["prefixes"], length, facts.task.bits, most=domain - 1)
    support = wholes("support", fields["support"], len(prefixes), 0, reports)
    oracle = facts.parameters.oracle_for(domain - 1)
    if oracle.name == "krr":
        require(sum(support) <= reports, "support", f"{reports} reports in all", sum(support))
    shares = np.array(support, dtype=np.int64) / max(reports, 1)
    frequencies = (shares - oracle.q) / (oracle.p - oracle.q)
    _check_prefixes(prefixes, frequencies, asked, reports)
    estimates = LevelEstimates(length, prefixes, frequencies, reports, oracle)
    return CountedPrefixes.of(estimates, facts.member.users, asked_for=asked is not None)


def _check_prefixes(prefixes: Codes, frequencies: Any, asked: SharedCandidates | None, reports: int) -> None:
    """Only positive estimates are sent; where the server asked, those that it asked for."""
    if asked is None:
        require(bool((frequencies > 0).all()), "support", "more than noise gives", "less")
    else:
        wanted = asked.prefixes if reports else asked.prefixes[:0]
        same = sorted(wanted.tolist()) == sorted(prefixes.tolist())
        require(same, "prefixes", "those that were asked for", f"{len(prefixes)} others")


def _read_domain(facts: PartyFacts, level: int, content: Any) -> int:
    """Return d; it is known where its list was signed, and in Canopy, where the server names all candidates."""
    known = facts.slots.get(level)
    if facts.task.mechanism == "canopy":
        known = _candidates(facts, facts.said[-2], level) + 1
    least, most = (known, known) if known else (2, most_candidates(facts.task, level) + 1)
    return whole("slots of a domain", content, least, most)


def _candidates(facts: PartyFacts, said: object, level: int) -> int:
    assert isinstance(said, SharedCandidates)  # noqa: S101  what Canopy's server says
    lengths = facts.task.lengths
    return len(said.prefixes) << (lengths[level] - lengths[level - 1])


def _read_quantised(facts: PartyFacts, content: Any) -> QuantisedCounts:
    fields = record("counts", content, {"values", "deviation"})
    level, signed = len(facts.said), facts.parameters.score == "sum"
    deviation = optional(_read_deviation(facts, level), "deviation", fields["deviation"])
    if deviation is None:
        return QuantisedCounts.of(np.array(rows("values", fields["values"], 0, 0)), np.inf, signed)
    candidates = _candidates(facts, facts.said[-1], level)
    oracle = facts.parameters.oracle_for(candidates)
    largest = facts.member.users * (1 - oracle.q) / (oracle.p - oracle.q)
    most = min(LARGEST_VALUE, round(2 * largest / deviation) + 1)
    values = wholes("values", fields["values"], candidates, -most if signed else 0, most)
    return QuantisedCounts(np.array(values, dtype=np.int64), deviation, signed)


def _read_deviation(facts: PartyFacts, level: int) -> Any:
    """Return a reader of s_i, which a whole number of reports, not more than the level has devices, must explain."""
    oracle = facts.parameters.oracle_for(_candidates(facts, facts.said[-1], level))
    users = facts.member.users
    one = users * float(np.sqrt(oracle.variance(0.0, 1)))

    def read(what: str, content: Any) -> float:
        deviation = decimal_number(what, content, FINEST * users * (1 - SLACK), one * (1 + SLACK))
        require(deviation == float(np.float32(deviation)), what, "a number of 32 bits", content)
        reports = whole("reports that explain a deviation", round((one / deviation) ** 2), 1, _most(facts, level))
        explained = max(one / reports**0.5, FINEST * users)
        require(abs(explained / deviation - 1) <= SLACK, what, f"{explained:g} or what another number gives", content)
        return deviation

    return read


def _most(facts: PartyFacts, level: int) -> int:
    most = facts.most_reports.get(level, 0)
    return most + 1 + int(most * 2 * SLACK)  # rounding a deviation to 32 bits may move the explanation
