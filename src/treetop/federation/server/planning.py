"""From a query to the task that devices see, and back to the parameters of its dialogues.

Everything that a dialogue needs is in the signed task: server, parties and devices cannot mean different things.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd

from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.task import (
    Deadlines,
    DeviceTask,
    Encoding,
    LeastReports,
    WeightedGroup,
)
from treetop.federation.task_parameters import MODES, Mode, parameters_of
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import Mechanism, mechanism_named
from treetop.mechanisms.requests import DivideUsers
from treetop.mechanisms.roster import Member, Roster
from treetop.oracles.protocol import MAX_SLOTS
from treetop.oracles.registry import deployable_oracles
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.trie.level_weights import level_weights
from treetop.trie.user_groups import Group, GroupSizes, Role

_ROLES = tuple(Role)
NOMINAL_USERS = 3_603_600_000
"""A party to read weights from: divisible by 1 .. 16 and by every share in thousandths."""
LEAST_KEPT_IN_ROUNDS = 2
"""A device refuses a list that grew from one prefix: it would ask about that prefix alone."""


@dataclass(frozen=True)
class QueryOrder:
    """What somebody wants to know, of whom, and how; refused here if it cannot be asked."""

    name: str
    parties: tuple[str, ...]
    """In the order P^R of TAPS: the largest first, where that is known."""
    attribute: str = "item"
    k: int = 10
    epsilon: str = "2"
    """In decimal digits, as devices compute with it."""
    mechanism: str = "canopy"
    mode: Mode = "one-shot"
    oracle: str = "auto"
    encoding: str = "words"
    settings: Mapping[str, object] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)
    """Users of some parties, where they are known beforehand: to say what share of them a result covers."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    least: LeastReports = field(default_factory=LeastReports)
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    """What becomes of missing parties; the one part of an order that is not in its task."""

    def __post_init__(self) -> None:
        mechanism_named(self.mechanism)
        if self.mode not in MODES:
            raise UnknownName("mode", self.mode, MODES)
        oracles = deployable_oracles(one_shot=self.mode == "one-shot")
        if self.oracle not in oracles:
            raise UnknownName(f"oracle of {self.mode} mode", self.oracle, oracles)
        if not self.parties:
            raise InvalidInput("a query needs one party at least, found none")
        for party, users in self.expected.items():
            if party not in self.parties:
                raise UnknownName("party", party, self.parties)
            if type(users) is not int or users < 1:
                raise InvalidInput(f"expected users of {party!r} must be a whole number from 1, found {users!r}")


def planned_task(order: QueryOrder) -> DeviceTask:
    """Run by the server: all that devices must know to answer this query, and all that its dialogues need."""
    mechanism, oracle = (
        mechanism_named(order.mechanism),
        deployable_oracles(one_shot=order.mode == "one-shot")[order.oracle],
    )
    asked = Parameters(order.k, Epsilon(order.epsilon), oracle).with_settings(_settings(order))
    codec_named(order.encoding, asked.bits, asked.hash_key)
    lengths = mechanism.lengths(asked)
    return DeviceTask(
        name=order.name, attribute=order.attribute, budget=Budget(order.epsilon), oracle=oracle, k=order.k,
        lengths=lengths, groups=weighted_groups(mechanism, asked),
        most_slots=MAX_SLOTS if order.mode == "one-shot" else _most_slots(lengths, mechanism.most_kept(asked)),
        encoding=Encoding(order.encoding, asked.hash_key if order.encoding == "hashed" else ""),
        mechanism=order.mechanism, settings=_told_settings(order, asked), parties=order.parties,
        deadlines=order.deadlines, least=order.least,
    )  # fmt: skip


def plan_notes(task: DeviceTask) -> tuple[str, ...]:
    """Say what a reader of the answer would not expect of these settings."""
    mechanism, parameters = mechanism_named(task.mechanism), parameters_of(task)
    unread = [name for name, _ in task.settings if name not in mechanism.reads]
    notes = [f"{mechanism.name} does not use the setting {name!r}" for name in unread]
    if mechanism.name == "canopy":
        notes.append(f"canopy: public weights of levels ({parameters.weights}), since every device draws its own level")
    if mechanism.shares and len(task.parties) == 1:
        notes.append(f"{mechanism.name}: there is one party only and nobody to share with")
    return tuple(notes)


def _settings(order: QueryOrder) -> dict[str, object]:
    """Add what a deployment cannot choose: devices draw their own groups, from weights known beforehand."""
    reads, settings = mechanism_named(order.mechanism).reads, dict(order.settings)
    if settings.get("groups", "independent") != "independent":
        raise InvalidInput("devices draw their own groups: the setting 'groups' must be independent in a federation")
    if "groups" in reads:
        settings["groups"] = "independent"
    if "weights" in reads and settings.get("weights", "adaptive") == "adaptive":
        settings["weights"] = "equal" if order.encoding == "hashed" else "ramp"
    if order.mode == "rounds":
        asked = Parameters(order.k, Epsilon(order.epsilon)).with_settings(settings)
        settings["least_kept"] = max(asked.least_kept, LEAST_KEPT_IN_ROUNDS)
    return settings


def _told_settings(order: QueryOrder, asked: Parameters) -> tuple[tuple[str, str], ...]:
    names = {*_settings(order), "bits"}
    return tuple(sorted((name, str(getattr(asked, name))) for name in names))


def _most_slots(lengths: tuple[int, ...], most_kept: int) -> int:
    """Return d_max: the longest list that the mechanism can ask about, and the dummy."""
    most, kept = 0, 1
    for shorter, longer in pairwise(lengths):
        candidates = kept << (longer - shorter)
        most, kept = max(most, candidates), min(candidates, most_kept)
    return min(most + 1, MAX_SLOTS)


def weighted_groups(mechanism: Mechanism, parameters: Parameters) -> tuple[WeightedGroup, ...]:
    """Return the groups of a task: as a party of that mechanism would divide a very large number of users."""
    sizes = {group: size for group, size in _nominal_sizes(mechanism, parameters).items() if size}
    common = gcd(*sizes.values())
    ordered = sorted(sizes, key=lambda group: (group.level, _ROLES.index(group.role)))
    return tuple(WeightedGroup(group, sizes[group] // common) for group in ordered)


def _nominal_sizes(mechanism: Mechanism, parameters: Parameters) -> GroupSizes:
    """Ask the second of two parties: the first one has no validation sets in TAPS."""
    roster = Roster((Member("first", NOMINAL_USERS), Member("second", NOMINAL_USERS)))
    request = next(mechanism.party(parameters, roster, roster.members[1]))
    if isinstance(request, DivideUsers):
        return request.sizes
    weights = level_weights(mechanism.levels(parameters), parameters.weights, 0.0)
    denominator = 2 * max(1, len(weights) - 1)  # of 1/2 and of j / (L - 1)
    return {Group(h): round(denominator * weight) for h, weight in enumerate(weights, start=1)}
