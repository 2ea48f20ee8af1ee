"""The catalogue: the items are known, every user reports her whole item once, and nothing is searched.

A device that knows the catalogue, which is public, reports "none of these" for an item that is not on it: so the share
of users outside comes with the same small error as an item's. Otherwise it is one level of Canopy.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectReports,
    Dialogue,
    DrawGroup,
    Findings,
    HearServer,
    Member,
    Roster,
    TellServer,
    ask,
)
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.summed_level import (
    SharedCandidates,
    SummedLevel,
    SummedParameters,
    best_prefixes,
    closing_round,
    record_level,
)
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.registry import listed_oracle
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.party_counts import PartyCounts, QuantisedCounts
from treetop.trie.user_groups import Group

ZETA = NormalDist().inv_cdf(1 - 2.0**-8)
EVERYBODY = 1.0


@dataclass(frozen=True)
class KnownItemsParameters(SummedParameters):
    """A catalogue fixes the bits of its codes, and hashes nothing: neither is a setting here."""

    bits: int = 48
    hash_key: str = DEFAULT_HASH_KEY


@dataclass(frozen=True)
class KnownItems(Mechanism[KnownItemsParameters]):
    """The two dialogues for a catalogue of that many items, whose codes are 0, 1, 2 .. in that many bits."""

    size: int
    bits: int

    name = "catalogue"
    parameters = KnownItemsParameters
    modes = ()

    @property
    def outside(self) -> int:
        """Return the code after the last item's: "none of these"."""
        return self.size

    def oracle(self, parameters: KnownItemsParameters) -> FrequencyOracle[Any]:
        """Return k-RR for a tiny catalogue, OLH otherwise, unless told; either counts "none of these", too."""
        return listed_oracle(parameters.oracle, parameters.epsilon, self.size)

    @cached_property
    def codes(self) -> Codes:
        """Return the codes of all items, and of "none of these"."""
        return np.arange(self.size + 1, dtype=np.uint64)

    def party(self, parameters: KnownItemsParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: every user reports once; send all counts rounded, then those asked for as they are."""
        counted = yield from self.count(parameters, party)
        signed = parameters.score == "sum"
        yield from ask(TellServer(self.items(counted).quantised(signed)))
        heard = yield from ask(HearServer[SharedCandidates]())
        yield from record_level(1, counted, len(heard.prefixes))
        outside = counted.of(self.codes[self.outside :])
        return Findings(counted.of(heard.prefixes), outside=outside, local=self.items(counted).top(parameters.k))

    def items(self, counted: PartyCounts) -> PartyCounts:
        """Return the counts of the items alone."""
        return replace(counted, prefixes=counted.prefixes[: self.size], frequencies=counted.frequencies[: self.size])

    def count(self, parameters: KnownItemsParameters, party: Member) -> Dialogue[PartyCounts]:
        """Run by a party: ask everybody, and count all items and the users outside."""
        codes, oracle = self.codes, self.oracle(parameters)
        domain = CandidateDomain(self.bits, codes[: self.size])
        yield from ask(DrawGroup(Group(1), EVERYBODY))
        tally = yield from ask(CollectReports(Group(1), domain, oracle))
        return PartyCounts(self.bits, codes, oracle.estimate(tally), tally.reports, oracle, party.users)

    def server(self, parameters: KnownItemsParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: the k best by the lower-confidence score, and how many users are outside."""
        uploads = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names)))
        level = SummedLevel.of(uploads, roster, self.size)
        best = best_prefixes(level, self.codes, parameters.k, ZETA, parameters.score)
        plain_sum, oracle = parameters.score == "sum", self.oracle(parameters)
        return (yield from closing_round(roster, best, self.size, oracle, plain_sum=plain_sum))

    def lengths(self, parameters: KnownItemsParameters) -> tuple[int, ...]:  # noqa: ARG002
        """Return the one level: whole items."""
        return (0, self.bits)

    def max_candidates(self, parameters: KnownItemsParameters) -> tuple[int, ...]:  # noqa: ARG002
        """Return the catalogue's size, whatever it is: devices hold the list, and nothing grows from it."""
        return (self.size,)

    def choices(self, parameters: KnownItemsParameters) -> tuple[str, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        oracle = self.oracle(parameters)
        return (f"a catalogue of {self.size:,} items: every user reports her whole item once by {oracle.name}",)
