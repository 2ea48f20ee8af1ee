"""End to end: every transcript of tiny runs of every mechanism, also with a party that chooses what it asks.

Two parties run the shipped dialogues. An adversary who controls the server and both parties sees which group the
target joined, what she reported, and what all others reported; anything computed from that is post-processing. The
others conspire against her: their reports are fixed, in several patterns, so that their noise never hides hers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treetop.audit.checks import NO_DIFFERENCE, Check, Odds, largest_odds, tight, within
from treetop.audit.enumerated_users import (
    PATTERN_BITS,
    Choices,
    EnumeratedUsers,
    Target,
    Transcript,
    UserBehaviour,
    asked_prefix,
    every_transcript,
)
from treetop.encoding.bit_strings import code_array
from treetop.mechanisms.dialogue import CollectNames, CollectReports, Dialogue, DrawGroup, Findings, Member, Roster
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import parameters_for
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.protocol import Oracle
from treetop.privacy.budget import Budget
from treetop.simulation.run import PartyRun, drive

ROSTER = Roster((Member("first", 1000), Member("second", 1000)))
"""Sizes that the parties claim; the second one's users are the target and one companion in every group."""
HONEST = UserBehaviour()
KRR = KRandomizedResponse()


@dataclass(frozen=True)
class Scene:
    """A tiny run: what is run, through which oracle, and who breaks the rules."""

    mechanism: Mechanism[Any]
    malicious: bool = False
    """Whether the target's party chooses its own questions."""
    behaviour: UserBehaviour = HONEST
    oracle: Oracle = KRR
    """k-RR stands for all: `oracle_laws` compares the law of any other with e^epsilon for every list."""
    k: int = 2
    called: str = ""
    """The name of the run, where the mechanism's own is ambiguous."""

    @property
    def name(self) -> str:
        """Return what is run."""
        return self.called or self.mechanism.name

    def __str__(self) -> str:
        return self.name + (" with a malicious party" if self.malicious else "")

    def transcripts(self, budget: Budget, pattern: int) -> Iterator[Transcript]:
        """Yield all transcripts, given the reports of everybody but the target."""
        parameters = parameters_for(
            self.mechanism, self.k, budget.text, self.oracle, self.mechanism.parameters.tiny, others=[self.mechanism]
        )
        bits = parameters.bits
        # Codes that share all, some and none of their first bits.
        codes = (0, (1 << bits) - 1, 1, 1 << (bits - 2), 1 << (bits - 1))
        values = (*codes, None)

        def run(choices: Choices) -> None:
            target = Target(values, self.oracle, self.behaviour, choices)
            parties: dict[str, PartyRun] = {}
            for number, member in enumerate(ROSTER.members):
                dialogue = self.mechanism.party(parameters, ROSTER, member)
                own = number > 0
                if own and self.malicious:
                    dialogue = prying(dialogue, parameters, codes, bits)
                users = EnumeratedUsers(bits, codes[number:], pattern, choices, target if own else None)
                parties[member.name] = PartyRun(dialogue, users)
            drive(self.mechanism.server(parameters, ROSTER), parties)

        return every_transcript(run, len(values))


def prying(honest: Dialogue[Findings], parameters: Parameters, codes: Sequence[int], bits: int) -> Dialogue[Findings]:
    """Run a malicious party: it keeps the order of the protocol, but asks about one code alone instead of any list.

    Which code, and how many users it asks to join, depends on the reports so far; its uploads are lies. Where all users
    report names in one question, it can only reverse the weights of the kinds.
    """
    answer: object = None
    curious = 0
    while True:
        try:
            request = honest.send(answer)
        except StopIteration as end:
            findings: Findings = end.value
            return findings
        match request:
            case CollectReports():
                prefix = asked_prefix(codes[curious % len(codes)], bits, request.domain)
                domain = replace(request.domain, prefixes=code_array([prefix], request.domain.length))
                tally: Tally = yield replace(request, domain=domain, oracle=parameters.oracle_for(len(domain)))
                curious += 1 + int(tally.support[0])
                lies = np.zeros(request.oracle.slots, dtype=np.int64)
                lies[curious % len(lies)] = tally.reports
                answer = Tally(lies, tally.reports)
            case DrawGroup(share=share):
                answer = yield replace(request, share=share / 2 if curious % 2 else share)
            case CollectNames(weights=weights):
                answer = yield replace(request, weights=weights[::-1])
            case _:
                answer = yield request


def worst_odds(scene: Scene, budget: Budget, limit: int) -> tuple[Odds, int]:
    """Return the largest ratio over all transcripts and all pairs of the target's values, and their number.

    More patterns of the others' reports are added while there are fewer transcripts than the limit.
    """
    worst = NO_DIFFERENCE
    number = 0
    for pattern in range(1 << PATTERN_BITS):
        columns = [transcript.probabilities for transcript in scene.transcripts(budget, pattern)]
        worst = largest_odds(columns, worst)
        number += len(columns)
        if number + len(columns) > limit:
            break
    return worst, number


def end_to_end_checks(mechanism: Mechanism[Any], quick: bool, called: str = "") -> list[Check]:
    """Check that no transcript tells two values of the target apart by more than e^epsilon, and that some come close.

    A malicious party gets the first check only: it may waste the budget.
    """
    honest, prying_party = (Scene(mechanism, malicious, called=called) for malicious in (False, True))
    return [*scene_checks(honest, quick), scene_checks(prying_party, quick)[0]]


def scene_checks(scene: Scene, quick: bool) -> list[Check]:
    """Check one scene, for several budgets."""
    budgets = [Budget(text) for text in (("1",) if quick else ("0.5", "1", "4"))]
    found = [(budget, *worst_odds(scene, budget, 600 if quick else 4_000)) for budget in budgets]
    number = sum(count for _, _, count in found)
    cases = [(budget, odds) for budget, odds, _ in found]
    claim = f"{scene}: no ratio over {number:,} complete transcripts exceeds e^epsilon"
    name = f"end_to_end_{scene.name}" + ("_malicious" if scene.malicious else "")
    return [within(name, claim, cases), tight(f"tight_{scene.name}", cases)]
