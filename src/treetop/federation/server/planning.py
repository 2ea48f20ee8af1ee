"""From a query to the task that devices see, and back to the parameters of its dialogues.

Everything that a dialogue needs is in the signed task: server, parties and devices cannot mean different things.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from math import gcd
from typing import Any

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.device.ledger import Caps
from treetop.federation.device.list_checks import MIN_SLOTS, smallest_domain
from treetop.federation.documents import canonical_json
from treetop.federation.protocol import MAX_MESSAGE_BYTES, MAX_REPLY_BYTES
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED, ExpectedUsers
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.task import (
    CampaignWeek,
    Deadlines,
    DeviceTask,
    Encoding,
    LeastReports,
    WeightedGroup,
)
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.deployed_groups import group_weights, task_lengths
from treetop.mechanisms.deployment import MODES, Mode
from treetop.mechanisms.parameters import P, Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import TRIE, Query
from treetop.mechanisms.registry import known_setting, mechanism_named, registered_mechanism, unread_settings
from treetop.mechanisms.strategy import ItemsAhead, Strategy, check_takes_sets, choose
from treetop.mechanisms.strict_json import COUNT_BYTES, code_bytes
from treetop.oracles.protocol import MAX_SLOTS
from treetop.oracles.registry import AUTO, deployable_oracles, task_oracles
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import epsilon_choice
from treetop.trie.user_groups import Role
from treetop.wording import Note

_ROLES = tuple(Role)
_ESCAPES = 6
"""Bytes more for each prefix of a signed list: it is JSON in JSON in JSON."""
REPLY_AROUND_BYTES = MAX_MESSAGE_BYTES
"""Of a reply without its counts: a list to be signed, which fits into a message, or notes and traces of levels."""
_AROUND_BYTES = 4096
"""Of a message without its prefixes and roster: beacon, signature, names of fields."""


@dataclass(frozen=True)
class PlannedQuery:
    """A task, and the mechanism that is asked with all that was chosen for it."""

    task: DeviceTask
    strategy: Strategy


@dataclass(frozen=True)
class QueryOrder:
    """A query, whom it is asked and until when; refused here if it cannot be asked."""

    name: str
    parties: tuple[str, ...]
    """In the order P^R of TAPS: the largest first, where that is known."""
    query: Query = field(default_factory=Query)
    """What is asked: mechanism, oracle and encoding by name, and lists that were normalised as devices do."""
    attribute: str = "item"
    mode: Mode = "one-shot"
    expected: Mapping[str, int] = field(default_factory=dict)
    """Users of some parties, where they are known beforehand: a party with many more is refused, and the result says
    what share of them it covers."""
    max_times_expected: int = MAX_TIMES_EXPECTED
    """How many times its expected users a party may have."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    least: LeastReports = field(default_factory=LeastReports)
    policy: MissingPolicy = field(default_factory=MissingPolicy)
    """What becomes of missing parties; it is not in the task."""
    campaign: CampaignWeek | None = None
    """Which week of a campaign this is, which stands in the task, too; None: the query stands alone."""

    def __post_init__(self) -> None:
        if self.query.mechanism is not None:
            named = registered_mechanism(self.query.mechanism).name
            object.__setattr__(self, "query", replace(self.query, mechanism=named))
        if self.mode not in MODES:
            raise UnknownName("mode", self.mode, MODES)
        oracles = deployable_oracles(one_shot=self.mode == "one-shot")
        if self._oracle not in oracles:
            raise UnknownName(f"oracle of {self.mode} mode", self._oracle, oracles)
        if not self.parties:
            raise InvalidInput("query_without_parties")
        self.expectations.check_order(self.parties)
        if "items_per_user" in self.query.settings:
            raise InvalidInput("items_per_user_as_setting")
        if self.query.sets is not None:
            if self.mode != "one-shot":
                raise InvalidInput("sets_in_rounds", mode=self.mode)
            if self.query.items_per_user > 1:
                check_takes_sets(self.query.mechanism, self.query.items_per_user)
        mechanism = self._asked.mechanism
        modes = mechanism.deployment.modes
        if self.mode not in modes:
            known = f"in {' or '.join(modes)} mode" if modes else "in simulations only"
            raise InvalidInput("mode_not_supported", name=mechanism.name, known=known, mode=self.mode)

    @property
    def expectations(self) -> ExpectedUsers:
        """Return what is expected of the parties, and how far they may be beyond it."""
        return ExpectedUsers(self.expected, self.max_times_expected)

    @property
    def _oracle(self) -> str:
        return str(self.query.oracle)

    @cached_property
    def listed(self) -> ItemList | None:
        """Return the list that the task names."""
        known = self.query.catalogue or self.query.word_list
        return None if known is None else ItemList(tuple(known.items), known.ordered, known.source)

    @cached_property
    def _asked(self) -> Strategy:
        """Return the strategy before anything is known that a deployment fixes."""
        return self._chosen(self.query.settings, self._oracle)

    def _chosen(self, settings: Mapping[str, object], oracle: str) -> Strategy:
        """Take the strategy that was asked for, or the one that suits what is given: what devices hold nobody knows."""
        strategy = self.query.strategy
        if self.mode == "rounds" and (strategy, self.query.mechanism) == (None, None):
            strategy = TRIE
        # Lists are given as devices see them: to normalise them again would change nothing and take its time.
        query = replace(self.query, oracle=oracle, strategy=strategy, settings=settings, normalise=())
        return choose(query, ItemsAhead(), parties=len(self.parties), hash_key=self._hash_key)

    @property
    def _normalise(self) -> str:
        return ",".join(self.query.normalise)

    @property
    def _hash_key(self) -> str:
        """Return a key that no other query has: a digest of all that is asked."""
        query = self.query
        content = [
            self.name,
            list(self.parties),
            self.attribute,
            query.k,
            query.epsilon_text,
            query.mechanism,
            self.mode,
            self._oracle,
            query.encoding,
            sorted((name, str(value)) for name, value in query.settings.items()),
            query.strategy,
            self.listed and self.listed.digest,
            query.text_recovery,
            self._normalise,
            vars(self.deadlines),
            *([] if query.sets is None else [vars(query.sets)]),
        ]
        return blake2b(canonical_json(content), digest_size=8).hexdigest()

    @property
    def local_epsilon(self) -> str:
        """Return the epsilon that gives the central guarantee, from what is expected of the smallest party."""
        central = self.query.central
        if central is None:
            return self.query.epsilon_text
        for party in self.parties:
            if party not in self.expected:
                raise InvalidInput("central_needs_expected", party=party)
        local = self.planned.strategy.local_epsilon(self.expected.values(), central, Caps().per_task)
        return Budget(f"{local:g}").text

    def reporting(self, epsilon: str) -> "QueryOrder":
        """Return the order with the epsilon that devices report with."""
        if epsilon == self.query.epsilon_text:
            return self
        return replace(self, query=replace(self.query, epsilon=epsilon))

    @property
    def choices(self) -> tuple[Note, ...]:
        """Say what was chosen and why, for the reader of the answer."""
        chosen = self.planned.strategy.choices
        central = self.query.central
        if central is None:
            return chosen
        return (*chosen, epsilon_choice(Epsilon(self.query.epsilon), central, min(self.expected.values())))

    @cached_property
    def planned(self) -> PlannedQuery:
        """Run by the server: all that devices must know to answer this query, and all that its dialogues need."""
        one_shot = self.mode == "one-shot"
        chosen = self._asked
        oracle = deployable_oracles(one_shot=one_shot)[self._oracle]
        mechanism: Mechanism[Any] = chosen.mechanism
        if one_shot and self._oracle == AUTO:
            oracle = mechanism.deployment.hashing_oracle
        hashed = chosen.codec.hashes
        settings = mechanism.deployment.settings(
            mechanism.parameters, self.query.settings, mode=self.mode, hashed=hashed
        )
        strategy = self._chosen(settings, oracle)
        mechanism = strategy.mechanism
        asked = strategy.parameters
        texts = {name: _text(asked, name, settings) for name in settings} | {"bits": str(asked.bits)}
        lengths = task_lengths(mechanism, asked)
        max_slots = MAX_SLOTS
        if mechanism.reports_names and hashed:
            texts |= {"hash_key": asked.hash_key} | ({"text_chunks": str(len(lengths) - 2)} if len(lengths) > 2 else {})
        uploads = mechanism.wire.uploads(asked)
        if uploads > 1 and not mechanism.wire.writes_uploads:
            raise InvalidInput("uploads_without_wire", name=mechanism.name, uploads=uploads)
        _check_messages(mechanism, asked, self)
        if self.mode == "rounds":
            max_slots = max(mechanism.levels(asked).max_candidates) + 1
            longest = min(each.max_slots for each in task_oracles(oracle))
            if max_slots > longest:
                raise InvalidInput("lists_too_long_for_oracle", oracle=oracle, longest=longest, max_slots=max_slots)
        task = DeviceTask(
            name=self.name,
            attribute=self.attribute,
            budget=Budget(self.query.epsilon_text),
            oracle=oracle,
            k=self.query.k,
            lengths=lengths,
            groups=weighted_groups(mechanism, asked),
            max_slots=max_slots,
            encoding=Encoding(strategy.codec.name, asked.hash_key if hashed else "", self._normalise),
            reports="names" if mechanism.reports_names else "prefixes",
            item_list=self.listed.digest if self.listed else "",
            mechanism=mechanism.name,
            settings=tuple(sorted(texts.items())),
            parties=self.parties,
            deadlines=self.deadlines,
            least=self.least,
            sets=self.query.sets,
            campaign=self.campaign,
        )
        if self.mode == "rounds":
            _refuse_short_lists(task)
        return PlannedQuery(task, strategy)


def planned_task(order: QueryOrder) -> DeviceTask:
    """Run by the server: all that devices must know to answer this query, and all that its dialogues need."""
    return order.planned.task


def _refuse_short_lists(task: DeviceTask) -> None:
    """Refuse a task in rounds with lists so short that a device, left as it was shipped, answers none of them."""
    for group in (task.group_at(party, entry.group) for entry in task.groups for party in task.parties):
        slots = smallest_domain(task, group) + 1
        if slots < MIN_SLOTS:
            instead = "fewer levels of more bits" if group.role is Role.ESTIMATE else "a larger k"
            raise InvalidInput(
                "lists_too_short",
                min_slots=MIN_SLOTS,
                slots=slots,
                level=group.level,
                value=group.role.value,
                instead=instead,
            )


def plan_notes(task: DeviceTask) -> tuple[Note, ...]:
    """Say what a reader of the answer would not expect of these settings."""
    mechanism = mechanism_named(task.mechanism)
    return (
        *unread_settings(mechanism, dict(task.settings)),
        *mechanism.notes.of_deployment(parameters_of(task)),
        *mechanism.notes.of_parties(mechanism.name, len(task.parties)),
    )


def _text(asked: Parameters, name: str, settings: Mapping[str, object]) -> str:
    """Return a setting as the task spells it; also one that only another mechanism has, to say so in the answer."""
    own = name in asked.settings()
    return str(getattr(asked, name) if own else known_setting(name).parse(name, settings[name]))


def _check_messages(mechanism: Mechanism[P], asked: P, order: QueryOrder) -> None:
    """Refuse a query whose messages a party does not take, or whose replies the server does not."""
    levels = mechanism.levels(asked)
    longest = levels.max_candidates
    lengths = levels.lengths
    message = mechanism.wire.max_message_bytes(asked)
    what = f"what {mechanism.name} sends"
    if order.mode == "rounds" and levels.max_kept is not None:
        steps = [longer - shorter for shorter, longer in pairwise(lengths)]
        signed = [
            (candidates + (candidates >> step)) * (code_bytes(length) + _ESCAPES)
            for candidates, step, length in zip(longest, steps, lengths[1:], strict=True)
        ]
        message, what = max((message, what), (max(signed), f"signed lists of {max(longest):,} candidates"))
    around = _AROUND_BYTES + sum(len(canonical_json(name)) + COUNT_BYTES for name in order.parties)
    if (found := message + around) > MAX_MESSAGE_BYTES:
        raise InvalidInput("messages_too_long", max_message_bytes=MAX_MESSAGE_BYTES, found=found, what=what)
    reply = mechanism.wire.max_reply_bytes(asked, levels)
    if reply > MAX_REPLY_BYTES:
        raise InvalidInput("replies_too_long", max_reply_bytes=MAX_REPLY_BYTES, longest=longest[-1], reply=reply)


def longest_reply(task: DeviceTask, listed: ItemList | None = None) -> int:
    """Run by the server: the bytes that it takes of a reply, from what the mechanism may upload in this task."""
    mechanism = mechanism_of(task, listed)
    parameters = parameters_of(task)
    counts = mechanism.wire.max_reply_bytes(parameters, mechanism.levels(parameters))
    return min(counts + REPLY_AROUND_BYTES, MAX_REPLY_BYTES)


def weighted_groups(mechanism: Mechanism[P], parameters: P) -> tuple[WeightedGroup, ...]:
    """Return the groups of a task, with weights as small as they can be."""
    sizes = {group: size for group, size in group_weights(mechanism, parameters).items() if size}
    common = gcd(*sizes.values())
    ordered = sorted(sizes, key=lambda group: (group.level, _ROLES.index(group.role)))
    return tuple(WeightedGroup(group, sizes[group] // common) for group in ordered)
