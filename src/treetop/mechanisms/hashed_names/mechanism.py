"""Hashed names: Canopy over a short salted hash, and texts that are read back by a word list or by their chunks.

A user gives one report, of a kind drawn whatever she holds: a level of the search for the hash H, or one chunk j of the
public code of her text, behind H: the device hashes (H, j, chunk j). The server walks over the likeliest texts of every
H that is on no list and accepts the first whose salted hash is H. All that it asks about comes from sanitised reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import root_prefix
from treetop.mechanisms.dialogue import AskParties, Dialogue, Findings, HearServer, Member, Roster, TellServer, ask
from treetop.mechanisms.hashed_names.plan import HashedParameters, HashedPlan, HashedTextParameters, hashed_choices
from treetop.mechanisms.hashed_names.texts import (
    NamedFindings,
    NamesWanted,
    count_texts,
    named_ranking,
    names_wanted,
    pooled_chunks,
    read_texts,
)
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.summed_level import SharedCandidates, SummedLevel, count_level, record_level
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.global_ranking import GlobalRanking, ReadText
from treetop.trie.lower_confidence import scored
from treetop.trie.party_counts import QuantisedCounts
from treetop.trie.user_groups import Group, joining_share


@dataclass(frozen=True, eq=False)
class HashedNames(Mechanism[HashedParameters]):
    """The two dialogues, with the hashes of a word list and whether users are asked for their texts."""

    listed: Mapping[int, bytes]
    texts: bool

    name = "hashed_names"
    shares = True
    modes = ()
    tiny_settings = {"bits": 8, "text_chunks": 1}  # noqa: RUF012

    @property
    def parameters(self) -> type[HashedParameters]:
        """Return the parameters, those of the texts only where texts are asked for."""
        return HashedTextParameters if self.texts else HashedParameters

    def party(self, parameters: HashedParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: count the levels of the search, then the chunks, then what the server has read."""
        plan = HashedPlan.of(parameters)
        heard = yield from ask(HearServer[SharedCandidates]())
        for h in range(1, plan.search.L + 1):
            Lambda = plan.search.candidates(heard.prefixes, h)
            oracle = parameters.oracle_for(len(Lambda))
            counted = yield from count_level(party, Group(h), joining_share(list(plan.weights), h), Lambda, oracle)
            yield from ask(TellServer(counted.quantised(plan.search.signed)))
            if h < plan.search.L:
                heard = yield from ask(HearServer[SharedCandidates]())
                yield from record_level(h, counted, len(heard.prefixes))
        texts = (yield from count_texts(parameters, plan, party)) if plan.chunks else []
        wanted = yield from ask(HearServer[NamesWanted]())
        yield from record_level(plan.search.L, counted, len(wanted.hashes))
        named = pooled_chunks(texts, wanted) if texts else None
        return NamedFindings(counted.of(wanted.hashes), local=counted.top(parameters.k), texts=named)

    def server(self, parameters: HashedParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: search the hashes, read their texts, rank by all reports that name an item."""
        plan = HashedPlan.of(parameters)
        A = root_prefix(parameters.bits)
        for h in range(1, plan.search.L + 1):
            message = SharedCandidates(A, joining_share(list(plan.weights), h))
            uploads = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names, message)))
            Lambda = plan.search.candidates(A, h).prefixes
            level = SummedLevel.of(uploads, roster, len(Lambda))
            best = best_places(parameters, plan, level, plan.search.kept if h < plan.search.L else plan.asked)
            A = Lambda[best]
        read = {code: ReadText(self.listed[code], "listed") for code in A.tolist() if code in self.listed}
        if plan.chunks:
            expected = {name: expected_holders(sent, best) for name, sent in uploads.items()}
            read |= yield from read_texts(parameters, plan, roster, A, read=read, expected=expected)
        wanted = names_wanted(parameters, plan, A, read)
        findings = yield from ask(AskParties[NamedFindings](dict.fromkeys(roster.names, wanted)))
        return named_ranking(parameters, roster, findings, read, len(Lambda), zeta=plan.search.zeta)

    def choices(self, parameters: HashedParameters) -> tuple[str, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        return hashed_choices(parameters)

    def max_kept(self, parameters: HashedParameters) -> int:
        """Return t."""
        return HashedPlan.of(parameters).search.kept

    def lengths(self, parameters: HashedParameters) -> tuple[int, ...]:
        """Return the lengths of the search."""
        return HashedPlan.of(parameters).search.lengths


def best_places(parameters: HashedParameters, plan: HashedPlan, level: SummedLevel, number: int) -> NDArray[np.int64]:
    """Run by the server: the places of the best candidates, ascending; the first ones where nobody reported."""
    if not level.users:
        return np.arange(min(number, len(level.counts)))
    return np.sort(scored(level.counts, level.variances, plan.search.zeta, parameters.score).best(number))


def expected_holders(sent: QuantisedCounts, places: NDArray[np.int64]) -> Frequencies:
    """Run by the server: how many users of a party hold each hash, as far as its counts tell."""
    return np.zeros(len(places)) if sent.missing else sent.counts[places]
