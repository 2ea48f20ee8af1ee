"""From a query to the task that devices see, and back to the parameters of its dialogues.

Everything that a dialogue needs is in the signed task: server, parties and devices cannot mean different things.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd

from treetop.encoding.item_codecs import codec_class, codec_named
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.device.list_checks import LEAST_SLOTS, smallest_domain
from treetop.federation.protocol import MAX_MESSAGE_BYTES, MAX_REPLY_BYTES
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED, ExpectedUsers
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.task import (
    Deadlines,
    DeviceTask,
    Encoding,
    LeastReports,
    WeightedGroup,
)
from treetop.federation.task_parameters import parameters_of
from treetop.federation.wire.signed_documents import canonical_json
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import MODES, Mechanism, Mode, P
from treetop.mechanisms.registry import (
    DEFAULT_MECHANISM,
    known_setting,
    mechanism_named,
    parameters_for,
    registered_mechanism,
    unread_settings,
)
from treetop.mechanisms.strict_json import code_bytes
from treetop.oracles.protocol import MAX_SLOTS
from treetop.oracles.registry import deployable_oracles, task_oracles
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Role

_ROLES = tuple(Role)
_ESCAPES = 6
"""Bytes more for each prefix of a signed list: it is JSON in JSON in JSON."""
_COUNT_BYTES = 16
"""Of a count in JSON, and what stands around it."""
_AROUND_BYTES = 4096
"""Of a message without its prefixes and roster: beacon, signature, names of fields."""


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
    mechanism: str = DEFAULT_MECHANISM
    mode: Mode = "one-shot"
    oracle: str = "auto"
    encoding: str = "words"
    settings: Mapping[str, object] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)
    """Users of some parties, where they are known beforehand: a party with many more is refused, and the result says
    what share of them it covers."""
    max_times_expected: int = MAX_TIMES_EXPECTED
    """How many times its expected users a party may have."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    least: LeastReports = field(default_factory=LeastReports)
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    """What becomes of missing parties; the one part of an order that is not in its task."""

    def __post_init__(self) -> None:
        mechanism = registered_mechanism(self.mechanism)
        object.__setattr__(self, "mechanism", mechanism.name)
        if self.mode not in MODES:
            raise UnknownName("mode", self.mode, MODES)
        if self.mode not in mechanism.modes:
            known = f"in {' or '.join(mechanism.modes)} mode" if mechanism.modes else "in simulations only"
            raise InvalidInput(f"{mechanism.name} can be asked {known}, found {self.mode}")
        oracles = deployable_oracles(one_shot=self.mode == "one-shot")
        if self.oracle not in oracles:
            raise UnknownName(f"oracle of {self.mode} mode", self.oracle, oracles)
        if not self.parties:
            raise InvalidInput("a query needs one party at least, found none")
        self.expectations.check_order(self.parties)

    @property
    def expectations(self) -> ExpectedUsers:
        """Return what is expected of the parties, and how far they may be beyond it."""
        return ExpectedUsers(self.expected, self.max_times_expected)


def planned_task(order: QueryOrder) -> DeviceTask:
    """Run by the server: all that devices must know to answer this query, and all that its dialogues need."""
    oracle = deployable_oracles(one_shot=order.mode == "one-shot")[order.oracle]
    mechanism = mechanism_named(order.mechanism)
    hashed = codec_class(order.encoding).hashes
    settings = mechanism.deployment_settings(order.settings, mode=order.mode, hashed=hashed)
    asked = parameters_for(mechanism, order.k, order.epsilon, oracle, settings)
    codec_named(order.encoding, asked.bits, asked.hash_key)
    texts = sorted((name, _text(asked, name, settings)) for name in {*settings, "bits"})
    if mechanism.uploads(asked) > 1 and type(mechanism).encode_upload is Mechanism.encode_upload:
        raise InvalidInput(
            f"{mechanism.name} sends {mechanism.uploads(asked)} uploads: a deployment expects encode_upload and "
            "decode_upload, found neither"
        )
    lengths, max_slots = mechanism.lengths(asked), MAX_SLOTS
    _check_messages(mechanism, asked, order)
    if order.mode == "rounds":
        max_slots = max(mechanism.max_candidates(asked)) + 1
        longest = min(each.max_slots for each in task_oracles(oracle))
        if max_slots > longest:
            raise InvalidInput(
                f"the oracle {oracle!r} has at most {longest:,} slots, found candidate lists of up to {max_slots:,}: "
                "ask for more levels or another oracle"
            )
    task = DeviceTask(
        name=order.name, attribute=order.attribute, budget=Budget(order.epsilon), oracle=oracle, k=order.k,
        lengths=lengths, groups=weighted_groups(mechanism, asked), max_slots=max_slots,
        encoding=Encoding(order.encoding, asked.hash_key if hashed else ""), mechanism=mechanism.name,
        settings=tuple(texts), parties=order.parties, deadlines=order.deadlines, least=order.least,
    )  # fmt: skip
    if order.mode == "rounds":
        _refuse_short_lists(task)
    return task


def _refuse_short_lists(task: DeviceTask) -> None:
    """Refuse a task in rounds with lists so short that a device, left as it was shipped, answers none of them."""
    for group in (task.group_at(party, entry.group) for entry in task.groups for party in task.parties):
        slots = smallest_domain(task, group) + 1
        if slots < LEAST_SLOTS:
            instead = "fewer levels of more bits" if group.role is Role.ESTIMATE else "a larger k"
            raise InvalidInput(
                f"devices answer candidate lists of {LEAST_SLOTS} slots at least, found {slots} at level {group.level} "
                f"({group.role.value}): ask for {instead}"
            )


def plan_notes(task: DeviceTask) -> tuple[str, ...]:
    """Say what a reader of the answer would not expect of these settings."""
    mechanism = mechanism_named(task.mechanism)
    notes = [*unread_settings(mechanism, dict(task.settings)), *mechanism.deployment_notes(parameters_of(task))]
    if mechanism.shares and len(task.parties) == 1:
        notes.append(f"{mechanism.name}: there is one party only and nobody to share with")
    return tuple(notes)


def _text(asked: Parameters, name: str, settings: Mapping[str, object]) -> str:
    """Return a setting as the task spells it; also one that only another mechanism has, to say so in the answer."""
    own = name in asked.settings()
    return str(getattr(asked, name) if own else known_setting(name).parse(name, settings[name]))


def _check_messages(mechanism: Mechanism[P], asked: P, order: QueryOrder) -> None:
    """Refuse a query whose messages a party does not take, or whose replies the server does not."""
    longest, lengths = mechanism.max_candidates(asked), mechanism.lengths(asked)
    message, what = mechanism.max_message_bytes(asked), f"what {mechanism.name} sends"
    if order.mode == "rounds" and mechanism.max_kept(asked) is not None:
        steps = [longer - shorter for shorter, longer in pairwise(lengths)]
        signed = [
            (candidates + (candidates >> step)) * (code_bytes(length) + _ESCAPES)
            for candidates, step, length in zip(longest, steps, lengths[1:], strict=True)
        ]
        message, what = max((message, what), (max(signed), f"signed lists of {max(longest):,} candidates"))
    around = _AROUND_BYTES + sum(len(canonical_json(name)) + _COUNT_BYTES for name in order.parties)
    if (found := message + around) > MAX_MESSAGE_BYTES:
        raise InvalidInput(
            f"a party takes messages of {MAX_MESSAGE_BYTES:,} bytes at most, found up to {found:,} in {what}: "
            "keep fewer prefixes, or ask for fewer items or more levels"
        )
    reply = longest[-1] * (code_bytes(lengths[-1]) + _COUNT_BYTES)
    if reply > MAX_REPLY_BYTES:
        raise InvalidInput(
            f"a server takes replies of {MAX_REPLY_BYTES:,} bytes at most, found counts of up to {longest[-1]:,} "
            f"candidates in {reply:,}: keep fewer prefixes, or ask for fewer items or more levels"
        )


def weighted_groups(mechanism: Mechanism[P], parameters: P) -> tuple[WeightedGroup, ...]:
    """Return the groups of a task, with weights as small as they can be."""
    sizes = {group: size for group, size in mechanism.group_weights(parameters).items() if size}
    common = gcd(*sizes.values())
    ordered = sorted(sizes, key=lambda group: (group.level, _ROLES.index(group.role)))
    return tuple(WeightedGroup(group, sizes[group] // common) for group in ordered)
