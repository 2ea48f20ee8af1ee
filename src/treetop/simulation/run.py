"""Run one server dialogue and its parties' dialogues over a population in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import Generator

from treetop.encoding.bit_strings import Codes
from treetop.errors import UnknownName
from treetop.mechanisms.dialogue import (
    CollectNames,
    CollectReports,
    Dialogue,
    DivideUsers,
    DrawGroup,
    Findings,
    HearServer,
    LevelTrace,
    Record,
    Request,
    TellServer,
    Upload,
    driven,
)
from treetop.mechanisms.parameters import P
from treetop.mechanisms.protocol import Mechanism
from treetop.simulation.population import PartyPopulation, Population
from treetop.simulation.set_users import DeviceByDeviceSetUsers, ExactSetUsers
from treetop.simulation.simulated_users import DeviceByDeviceUsers, ExactUsers, SimulatedUsers
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.support import Estimates

SIMULATORS: dict[str, type[SimulatedUsers]] = {
    "exact": ExactUsers,
    "devices": DeviceByDeviceUsers,
}
SET_SIMULATORS: dict[str, type[SimulatedUsers]] = {"exact": ExactSetUsers, "devices": DeviceByDeviceSetUsers}


def simulator_named(name: str) -> type[SimulatedUsers]:
    """Return the simulator of that name."""
    if name not in SIMULATORS:
        raise UnknownName("simulator", name, SIMULATORS)
    return SIMULATORS[name]


def simulated_users(simulator: str, party: PartyPopulation, randomness: Generator) -> SimulatedUsers:
    """Return the users who answer for a party; users who report one of several items draw it first."""
    one_item = simulator_named(simulator)
    if party.sets is None:
        return one_item(party, randomness)
    if party.sets.question is not None and party.sets.question.items_per_user == 1:
        return one_item(party.sampled(randomness), randomness)
    return SET_SIMULATORS[simulator](party, randomness)


@dataclass(frozen=True, eq=False)
class RunResult:
    """The outcome of one run, and its cost."""

    ranking: GlobalRanking
    findings: Mapping[str, Findings]
    """The last upload of every party."""
    estimates: Mapping[str, Estimates]
    """The counts derived from it."""
    local_tops: Mapping[str, Codes]
    uplink_bits: Mapping[str, int]
    traces: Mapping[str, list[LevelTrace]]
    groups: Mapping[str, Sequence[int]]
    """Of every party, the number of reports of each group that answered."""
    seconds: float

    def of_drawn_items(self, population: Population) -> "RunResult":
        """Return the outcome with the errors of counts to which users contribute only some of their items."""
        users = {member.name: member.users for member in population.roster.members}
        ranking = self.ranking.of_drawn_items_at((found, users[name]) for name, found in self.estimates.items())
        estimates = {name: found.of_drawn_items(users[name]) for name, found in self.estimates.items()}
        return replace(self, ranking=ranking, estimates=estimates)


@dataclass
class PartyRun:
    """One party's dialogue between two messages of the server."""

    dialogue: Dialogue[Findings]
    respondents: SimulatedUsers
    traces: list[LevelTrace] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    """Numbers of reports that were counted together, in the order of the requests."""
    uplink_bits: int = 0
    findings: Findings | None = None
    _answer: Any = None

    def deliver(self, message: object) -> Upload:
        """Hand over a message and continue until the party sends an upload to the server."""
        while True:
            try:
                request = self.dialogue.send(self._answer)
            except StopIteration as end:
                self.findings = end.value
                return self._sent(end.value)
            self._answer = None
            if isinstance(request, TellServer):
                return self._sent(request.upload)
            self._answer = message if isinstance(request, HearServer) else self._respond(request)

    def _sent(self, upload: Upload) -> Upload:
        self.uplink_bits += upload.bits
        return upload

    def _respond(self, request: Request[Any]) -> object:
        match request:
            case CollectReports():
                tally = self.respondents.collect(request)
                self.groups.append(tally.reports)
                return tally
            case CollectNames():
                named = self.respondents.name_reports(request)
                self.groups.append(sum(named.kinds))  # a kind is drawn with its report: all of them are one group
                return named
            case DivideUsers():
                self.respondents.divide(request)
            case DrawGroup():
                self.respondents.draw(request)
            case Record():
                self.traces.append(request.trace)
            case _:
                raise AssertionError(f"a party cannot ask {request}")
        return None


def run(
    mechanism: Mechanism[P],
    parameters: P,
    population: Population,
    *,
    seed: int,
    repetition: int = 0,
    simulator: str = "exact",
) -> RunResult:
    """Run a mechanism once; the same seed and repetition give the same outcome, byte for byte."""
    population.check_k(parameters.k)
    mechanism.levels(parameters)  # refuses lists that cannot be counted
    roster = population.roster
    parties: dict[str, PartyRun] = {}
    for index, party in enumerate(population.parties):
        # A stream for each party and repetition: the order in which parties draw changes nothing.
        stream = np.random.SeedSequence(seed, spawn_key=(repetition, index))
        member = next(member for member in roster.members if member.name == party.name)
        dialogue = mechanism.party(parameters, roster, member)
        parties[party.name] = PartyRun(dialogue, simulated_users(simulator, party, np.random.default_rng(stream)))
    begin = perf_counter()
    ranking = drive(mechanism.server(parameters, roster), parties)
    seconds = perf_counter() - begin
    findings = {name: party.findings for name, party in parties.items() if party.findings}
    outcome = RunResult(
        ranking=ranking,
        findings=findings,
        estimates={name: found.estimates for name, found in findings.items()},
        local_tops={name: found.local_top for name, found in findings.items()},
        uplink_bits={name: party.uplink_bits for name, party in parties.items()},
        traces={name: party.traces for name, party in parties.items()},
        groups={name: party.groups for name, party in parties.items()},
        seconds=seconds,
    )
    return outcome if population.question is None else outcome.of_drawn_items(population)


def drive(server: Dialogue[GlobalRanking], parties: Mapping[str, PartyRun]) -> GlobalRanking:
    """Answer the server's questions from the parties' dialogues until it returns the result."""
    return driven(server, lambda messages: {name: parties[name].deliver(said) for name, said in messages.items()})
