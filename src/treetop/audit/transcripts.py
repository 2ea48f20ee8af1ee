"""End to end: every transcript of tiny runs of the real mechanisms, also with a party that chooses what it asks.

Two parties, four users, a trie of two levels. Whoever sees everything, server and both parties, sees which group
the target answered in and every report; nothing that they compute from it can tell more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treetop.audit.audit_report import Check
from treetop.audit.choices import Choices, every_transcript
from treetop.audit.enumerated_users import BITS, EnumeratedUsers, User, UserBehaviour
from treetop.audit.exact_ratios import Odds, largest_odds, within
from treetop.encoding.bit_strings import code_array
from treetop.mechanisms.dialogue import (
    CollectReports,
    Dialogue,
    DivideUsers,
    Findings,
    HearServer,
    Member,
    Roster,
    TellServer,
    ask,
)
from treetop.mechanisms.registry import mechanism_named
from treetop.mechanisms.tap import tap_groups
from treetop.mechanisms.taps import PruningFindings, TapsParameters
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.run import PartyRun, drive
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.level_estimates import LevelEstimates
from treetop.trie.user_groups import Group

VALUES = tuple(first_two_bits << (BITS - 2) for first_two_bits in range(4))
TARGET = User(VALUES)
FIRST_PARTY = (User((VALUES[0],), Group(1)), User((VALUES[3],), Group(2)))
SECOND_PARTY = (User((VALUES[1],), Group(1)), TARGET)
ROSTER = Roster((Member("first", 20), Member("second", 20)))
"""What the parties claim; only four users answer, so that everything can be enumerated."""
PartySide = Callable[[TapsParameters, Roster, Member], Dialogue[Findings]]


@dataclass(frozen=True)
class TinyParameters(TapsParameters):
    """Two levels of one bit each."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Return l_0, l_1, l_2."""
        return (0, 1, 2)


def tiny_parameters(budget: Budget, k: int) -> TinyParameters:
    """Return the parameters of a tiny run: phase I is level 1, phase II is level 2 and prunes."""
    return TinyParameters(
        k=k, epsilon=Epsilon(budget.text), oracle="krr", bits=BITS, levels=2,
        shared_share=0.5, phase_one_share=0.5, beta=0.25,
    )  # fmt: skip


def prying_party(parameters: TapsParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG001
    """A malicious party: two candidates only, and at level 2 whatever the reports of level 1 make it curious about."""
    yield from ask(DivideUsers(tap_groups(parameters, party)))
    first = yield from _pry(parameters, Group(1), [1])
    yield from ask(TellServer(CountedPrefixes.of(first, party.users)))
    yield from ask(HearServer[object]())
    curious_about = 1 if first.frequencies[0] > 0 else 2
    second = yield from _pry(parameters, Group(2), [curious_about])
    return PruningFindings(CountedPrefixes.of(second, party.users))


def _pry(parameters: TapsParameters, group: Group, prefixes: Sequence[int]) -> Dialogue[LevelEstimates]:
    domain = CandidateDomain(2, code_array(prefixes, BITS))
    oracle: FrequencyOracle[object] = parameters.oracle_for(len(domain))
    tally = yield from ask(CollectReports(group, domain, oracle))
    return LevelEstimates.of(domain, oracle, tally)


@dataclass(frozen=True)
class Scene:
    """A tiny run: what is run, and who breaks the rules."""

    mechanism: str
    second_party: PartySide | None = None
    conduct: UserBehaviour = field(default_factory=UserBehaviour)

    def __str__(self) -> str:
        return self.mechanism.upper() + (" with a malicious party" if self.second_party else "")


def worst_odds(scene: Scene, budget: Budget, k: int) -> tuple[Odds, int]:
    """Return the largest ratio over all transcripts and all pairs of the target's values, and how many there are."""
    parameters = tiny_parameters(budget, k)
    server = mechanism_named(scene.mechanism).server

    def run(choices: Choices) -> None:
        drive(server(parameters, ROSTER), _parties(scene, parameters, budget, choices))

    columns = [transcript.probabilities for transcript in every_transcript(run, len(VALUES))]
    if any(sum(column) != 1 for column in zip(*columns, strict=True)):
        raise AssertionError("the probabilities of all transcripts add up to one")
    return largest_odds(columns), len(columns)


def _parties(scene: Scene, parameters: TapsParameters, budget: Budget, choices: Choices) -> dict[str, PartyRun]:
    honest = mechanism_named(scene.mechanism).party
    cast = zip(ROSTER.members, (honest, scene.second_party or honest), (FIRST_PARTY, SECOND_PARTY), strict=True)
    return {
        member.name: PartyRun(side(parameters, ROSTER, member), EnumeratedUsers(users, budget, choices, scene.conduct))
        for member, side, users in cast
    }


def end_to_end_check(name: str, scene: Scene, budgets: Sequence[Budget], ks: Sequence[int] = (1, 2)) -> Check:
    """Check that no transcript of a tiny run tells two values of the target apart by more than e^epsilon."""
    found = [(budget, *worst_odds(scene, budget, k)) for budget in budgets for k in ks]
    transcripts = sum(count for _, _, count in found)
    claim = f"{scene}: no ratio over {transcripts:,} complete transcripts exceeds e^epsilon"
    return within(name, claim, [(budget, odds) for budget, odds, _ in found])


def end_to_end_checks(quick: bool) -> list[Check]:
    """Check TAP, TAPS, and both with a party that pries."""
    budgets = [Budget(text) for text in (("1",) if quick else ("0.5", "1", "4"))]
    return [
        end_to_end_check("end_to_end_tap", Scene("tap"), budgets),
        end_to_end_check("end_to_end_taps", Scene("taps"), budgets),
        end_to_end_check("end_to_end_tap_malicious", Scene("tap", prying_party), budgets),
        end_to_end_check("end_to_end_taps_malicious", Scene("taps", prying_party), budgets),
    ]
