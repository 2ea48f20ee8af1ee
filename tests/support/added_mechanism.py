"""A mechanism of another package, in one file: every party counts first halves of codes, then whole codes.

It uses nothing but what `treetop.mechanisms.protocol` and its neighbours offer, and has a setting of its own.
"""

from dataclasses import dataclass

from treetop.encoding.bit_strings import root_prefix
from treetop.mechanisms.dialogue import AskParties, CollectReports, Dialogue, DivideUsers, Findings, Member, Roster, ask
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.parameters import Parameters, setting, whole_number
from treetop.mechanisms.protocol import Mechanism
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group, equal_groups


@dataclass(frozen=True)
class HalvesParameters(Parameters):
    halves_kept: int = setting(8, "", "First halves that go on.", whole_number(2, 100))


class Halves(Mechanism[HalvesParameters]):
    name = "halves"
    parameters = HalvesParameters

    def party(self, parameters: HalvesParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        lengths = self.levels(parameters).lengths
        yield from ask(DivideUsers(equal_groups(party.users, 2), independent=True))
        kept = root_prefix(parameters.bits)
        for h in (1, 2):
            domain = CandidateDomain.extending(kept, lengths[h - 1], lengths[h])
            oracle = parameters.oracle_for(len(domain))
            tally = yield from ask(CollectReports(Group(h), domain, oracle))
            ranked = Support.of(domain, oracle, tally, party.users).ranked()
            kept = ranked.top(parameters.halves_kept).candidates
        return Findings(ranked.top(parameters.k).positive())

    def server(self, parameters: HalvesParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names)))
        return summed([found.estimates for found in findings.values()]).top(parameters.k)

    def levels(self, parameters: HalvesParameters) -> Levels:
        return Levels.growing((0, parameters.bits // 2, parameters.bits))
