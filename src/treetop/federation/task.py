"""What everybody knows about a task before the first device answers; it never changes, a change is a new task."""

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal, get_args

from treetop.encoding.normalisation import STEPS
from treetop.errors import InvalidInput
from treetop.federation.documents import (
    DIGEST,
    LARGEST_NUMBER,
    NAME,
    NOT_EMPTY,
    READABLE,
    DocumentCode,
    DocumentRefused,
    Rule,
    canonical_json,
    entries,
    one_of,
    read_canonical,
    readable_texts,
    record,
    require,
    rows,
    whole,
)
from treetop.oracles.protocol import MAX_SLOTS, DeviceFace, Oracle
from treetop.oracles.registry import chosen_oracle, form_for_sets, task_oracles
from treetop.oracles.set_reports import MAX_ITEMS, READINGS, SetQuestion
from treetop.privacy.budget import Budget
from treetop.public_text import first_hidden, name_problem, visible
from treetop.trie.user_groups import Group, Role

LONGEST_CODE = 256
LONGEST_NAME = 32
CHUNK_BITS = 8
MAX_CHUNKS = 64
"""Bits of a name, bits of a chunk of the text behind it, and how many chunks a text has at most."""
LAST_SECOND = LARGEST_NUMBER
MAX_WEIGHT = 1 << 32
MAX_WEEKS = 1024
MAX_CYCLES = 1024
MAX_PARTIES = 1 << 16
_TASK_DOMAIN = b"treetop task 1\0"
_DIGEST = re.compile("([0-9a-f]{64})?")

Reports = Literal["prefixes", "names"]
"""What devices report: the first bits of their code, so many at each level; or a whole name, or a chunk behind it."""


@dataclass(frozen=True)
class WeightedGroup:
    """A group of users and how many of all tickets lead to it."""

    group: Group
    weight: int


@dataclass(frozen=True)
class Encoding:
    """How an item becomes a code, so that a device can do it itself."""

    name: str = "ids"
    hash_key: str = ""
    """The public key of hashed names; empty for the others."""
    normalise: str = ""
    """Steps that a device puts its item through first (`encoding.normalisation`), separated by commas."""

    def written(self) -> dict[str, str]:
        """Return its fields; steps only where there are any, as tasks were written before there were."""
        return {name: text for name, text in vars(self).items() if text or name != "normalise"}


@dataclass(frozen=True)
class Deadlines:
    """Seconds since 1970: what comes earlier or later is refused."""

    opens: int = 0
    enrolment: int = LAST_SECOND
    """In rounds nobody enrols from here on; the beacon follows."""
    reports: int = LAST_SECOND
    level_seconds: int = 3600
    """How long a published list stays open at most."""


@dataclass(frozen=True)
class LeastReports:
    """Groups with fewer reports are not used: noise would swamp them, and they are easier to link to a person."""

    estimate: int = 500
    validation: int = 100


@dataclass(frozen=True)
class CampaignWeek:
    """Which week of which campaign a task is (`federation.campaign`); cycles and weeks are counted from 0."""

    campaign: str
    """Digest of the campaign in hexadecimal."""
    cycle: int
    week: int


@dataclass(frozen=True)
class DeviceTask:
    """All that a device must know to answer; its digest names it."""

    name: str
    attribute: str
    """What is asked about: a device answers about one attribute only, and its lifetime cap counts whatever is asked."""
    budget: Budget
    oracle: str
    """The name of an oracle, or `listed`: the better one for the length of each list (`oracles.registry`)."""
    k: int
    lengths: tuple[int, ...]
    """l_0 .. l_g: the prefix length of every level, from 0 to the bits of a code.

    Where names are reported: 0, the bits of a name, and 8 more for every chunk. Level 1 reports the name, level h the
    chunk h - 1 behind it.
    """
    groups: tuple[WeightedGroup, ...]
    max_slots: int = MAX_SLOTS
    """d_max: no published list may be longer, the dummy counted."""
    encoding: Encoding = Encoding()
    reports: Reports = "prefixes"
    item_list: str = ""
    """Digest of the list of known items in hexadecimal (`wire.item_lists`); empty where there is none."""
    sets: SetQuestion | None = None
    """What is asked of devices that hold sets of items; None: every device holds one."""
    mechanism: str = ""
    """What the reports are for, and its settings: public, so that nobody can say later that it was something else."""
    settings: tuple[tuple[str, str], ...] = ()
    parties: tuple[str, ...] = ()
    """In the order P^R. The first one validates nothing: its validation groups estimate like the others."""
    deadlines: Deadlines = Deadlines()
    least: LeastReports = LeastReports()
    campaign: CampaignWeek | None = None
    """Which week of a campaign this is; None: it stands alone."""

    def __post_init__(self) -> None:
        task_oracles(self.oracle)
        if self.sets is not None:
            form_for_sets(self.oracle, self.sets.items_per_user)
        problems = [*_text_problems(self), *_length_problems(self), *_group_problems(self), *_party_problems(self)]
        problems = problems or _hidden_texts(self)
        if problems:
            raise InvalidInput("task_unaskable", problems=problems)

    @property
    def bits(self) -> int:
        """Return m, the bits of a code."""
        return self.lengths[-1]

    @property
    def name_bits(self) -> int:
        """Return b, where names are reported."""
        return self.lengths[1]

    @property
    def chunks(self) -> int:
        """Return how many chunks of a text are reported behind its name."""
        return len(self.lengths) - 2

    @property
    def one_shot(self) -> bool:
        """Return whether devices answer without a candidate list, each at a level of its own drawing."""
        return not any(oracle.listed for oracle in task_oracles(self.oracle))

    def oracle_for(self, slots: int) -> Oracle:
        """Return the oracle of a list of d slots; where there are no lists, of every report."""
        return chosen_oracle(self.oracle, self.budget.odds_below, slots)

    @property
    def unlisted_oracle(self) -> Oracle:
        """Return the oracle of devices that answer without a candidate list, in the form for what they hold."""
        (oracle,) = task_oracles(self.oracle)
        return oracle if self.sets is None else form_for_sets(oracle.name, self.sets.items_per_user)

    @property
    def unlisted_face(self) -> DeviceFace:
        """Return how a device answers without a candidate list."""
        return self.unlisted_oracle.device(self.budget)

    def face_for(self, slots: int) -> DeviceFace:
        """Return how a device answers a list of d slots."""
        return self.oracle_for(slots).device(self.budget, slots)

    def group_at(self, party: str, drawn: Group) -> Group:
        """Return the group that a device of a party is in: at the first party validation sets estimate."""
        return Group(drawn.level) if self.parties and party == self.parties[0] else drawn

    @property
    def thresholds(self) -> dict[str, str]:
        """Return the integers that a device compares random words with, where they do not depend on a list."""
        listed = () if self.one_shot else task_oracles(self.oracle)
        faces = [oracle.device(self.budget, 2) for oracle in listed] or [self.unlisted_face]
        return {name: str(number) for face in faces for name, number in face.task_thresholds().items()}

    @cached_property
    def digest(self) -> bytes:
        """Return the 32 bytes that stand for this task in every envelope and ledger."""
        return sha256(_TASK_DOMAIN + self.canonical_bytes()).digest()

    def canonical_bytes(self) -> bytes:
        """Return the one way to write this task down: JSON with sorted keys, no spaces, integers and texts only."""
        groups = [[entry.group.level, entry.group.role.value, entry.weight] for entry in self.groups]
        content = {
            "attribute": self.attribute,
            "epsilon": self.budget.text,
            "groups": groups,
            "k": self.k,
            "lengths": list(self.lengths),
            "most_slots": self.max_slots,
            "name": self.name,
            "oracle": self.oracle,
            "encoding": self.encoding.written(),
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "parties": list(self.parties),
            "deadlines": vars(self.deadlines),
            "least": vars(self.least),
            "thresholds": self.thresholds,
        }
        if self.reports != "prefixes":
            content["reports"] = self.reports
        if self.item_list:
            content["item_list"] = self.item_list
        if self.sets is not None:
            content["sets"] = vars(self.sets)
        if self.campaign is not None:
            content["campaign"] = vars(self.campaign)
        return canonical_json(content)

    @classmethod
    def from_canonical_bytes(cls, data: bytes) -> "DeviceTask":
        """Read a task back; anything but its one canonical form is refused, and so are texts that nobody could read."""
        content = read_canonical("task", data, TASK)
        try:
            task = _from_content(content)
        except InvalidInput as problem:
            raise DocumentRefused(DocumentCode.MEANING, "task", "one that can be asked", problem) from None
        own = task.thresholds
        require(content["thresholds"] == own, DocumentCode.MEANING, "thresholds", own, content["thresholds"])
        return task


def _lengths() -> Rule:
    longest_text = LONGEST_NAME + CHUNK_BITS * MAX_CHUNKS
    return rows(whole(0, longest_text), 2, LONGEST_CODE + 1)


_SECONDS = whole(0, LAST_SECOND)
_COUNT = whole(1, MAX_WEIGHT)
LEVEL = whole(1, LONGEST_CODE)
ROLE = one_of(*Role)
TASK = record(
    {
        "attribute": NAME,
        "epsilon": READABLE,
        "groups": rows(entries(LEVEL, ROLE, _COUNT), 1, 3 * LONGEST_CODE),
        "k": whole(1, MAX_SLOTS),
        "lengths": _lengths(),
        "most_slots": whole(2, MAX_SLOTS),
        "name": NAME,
        "oracle": READABLE,
        "encoding": record({"hash_key": READABLE, "name": READABLE}, {"normalise": NOT_EMPTY}),
        "mechanism": READABLE,
        "settings": readable_texts,
        "parties": rows(NAME, 0, MAX_PARTIES),
        "deadlines": record(dict.fromkeys(("opens", "enrolment", "reports", "level_seconds"), _SECONDS)),
        "least": record({"estimate": _COUNT, "validation": _COUNT}),
        "thresholds": readable_texts,
    },
    {
        "reports": one_of("names"),
        "item_list": DIGEST,
        "sets": record({"items_per_user": whole(1, MAX_ITEMS), "reading": one_of(*READINGS)}),
        "campaign": record({"campaign": DIGEST, "cycle": whole(0, MAX_CYCLES - 1), "week": whole(0, MAX_WEEKS - 1)}),
    },
)
"""The fields of a task, for those who read one."""


def _from_content(content: dict[str, Any]) -> DeviceTask:
    return DeviceTask(
        name=content["name"],
        attribute=content["attribute"],
        budget=_budget(content["epsilon"]),
        oracle=content["oracle"],
        k=content["k"],
        lengths=tuple(content["lengths"]),
        groups=tuple(WeightedGroup(Group(level, Role(role)), weight) for level, role, weight in content["groups"]),
        max_slots=content["most_slots"],
        mechanism=content["mechanism"],
        settings=tuple(sorted(content["settings"].items())),
        parties=tuple(content["parties"]),
        encoding=Encoding(**content["encoding"]),
        deadlines=Deadlines(**content["deadlines"]),
        least=LeastReports(**content["least"]),
        reports=content.get("reports", "prefixes"),
        item_list=content.get("item_list", ""),
        sets=SetQuestion(**content["sets"]) if "sets" in content else None,
        campaign=CampaignWeek(**content["campaign"]) if "campaign" in content else None,
    )


def _budget(text: str) -> Budget:
    budget = Budget(text)
    if budget.text != text:
        raise InvalidInput("epsilon_needless_zeros", text=text)
    return budget


def _whole(number: object, least: int, most: int) -> bool:
    return type(number) is int and least <= number <= most


def _text_problems(task: DeviceTask) -> list[str]:
    problems = [f"{name} must not be empty" for name in ("name", "attribute") if not getattr(task, name)]
    if not _whole(task.k, 1, MAX_SLOTS):
        problems.append(f"k must be a whole number of at least 1, found {task.k}")
    if not _whole(task.max_slots, 2, MAX_SLOTS):
        problems.append(f"most_slots must be from 2 to {MAX_SLOTS}, found {task.max_slots}")
    if task.reports not in get_args(Reports):
        problems.append(f"reports must be {' or '.join(get_args(Reports))}, found {str(task.reports)[:80]!r}")
    if not isinstance(task.item_list, str) or not _DIGEST.fullmatch(task.item_list):
        problems.append("item_list must be 64 hexadecimal digits, or empty")
    if task.sets is not None and not _whole(task.sets.items_per_user, 1, MAX_ITEMS):
        problems.append(
            f"items_per_user must be a whole number from 1 to {MAX_ITEMS}, found {task.sets.items_per_user}"
        )
    if (place := task.campaign) is not None:
        digest = isinstance(place.campaign, str) and len(place.campaign) == 64 and _DIGEST.fullmatch(place.campaign)
        if not digest or not _whole(place.cycle, 0, MAX_CYCLES - 1) or not _whole(place.week, 0, MAX_WEEKS - 1):
            problems.append(
                "campaign must be 64 hexadecimal digits, with a cycle and a week that are whole numbers from 0 to "
                f"{MAX_WEEKS - 1}"
            )
    named = str(task.encoding.normalise).split(",")
    if task.encoding.normalise and named != [step for step in STEPS if step in named]:
        problems.append(f"normalise must name steps out of {','.join(STEPS)}, in this order")
    return problems


def _hidden_texts(task: DeviceTask) -> list[str]:
    """Return what is wrong with texts that people are shown: none may hold what nobody can see."""
    names = [("name", task.name), ("attribute", task.attribute), *(("party", party) for party in task.parties)]
    problems = [f"{what} {problem}" for what, name in names if (problem := name_problem(name))]
    others = (task.oracle, task.mechanism, task.encoding.name, task.encoding.hash_key, task.settings)
    if (found := first_hidden(others)) is not None:
        problems.append(f"settings must be without control and invisible characters, found '{visible(found)[:80]}'")
    return problems


def _length_problems(task: DeviceTask) -> list[str]:
    lengths = task.lengths
    if task.reports == "names":
        names = len(lengths) > 1 and _whole(lengths[1], 1, LONGEST_NAME) and len(lengths) <= 2 + MAX_CHUNKS
        if not names or lengths != (0, *range(lengths[1], lengths[1] + CHUNK_BITS * (len(lengths) - 1), CHUNK_BITS)):
            return [f"lengths of names must be 0, up to {LONGEST_NAME} bits, and {CHUNK_BITS} more for every chunk"]
        return [] if task.one_shot else ["names are reported through an oracle that hashes them"]
    whole = len(lengths) > 1 and all(_whole(length, 0, LONGEST_CODE) for length in lengths)
    rising = whole and all(one < two for one, two in pairwise(lengths))
    return [] if rising and lengths[0] == 0 else ["lengths must rise from 0 to at most 256 bits"]


def _group_problems(task: DeviceTask) -> list[str]:
    problems: list[str] = []
    if len({entry.group for entry in task.groups}) != len(task.groups) or not task.groups:
        problems.append("groups must be distinct, and there must be one at least")
    if not all(_whole(entry.weight, 1, MAX_WEIGHT) for entry in task.groups):
        problems.append(f"weights must be whole numbers from 1 to {MAX_WEIGHT}")
    if not all(_whole(entry.group.level, 1, len(task.lengths) - 1) for entry in task.groups):
        problems.append("every group must be of a level that the task has")
    return problems


def _party_problems(task: DeviceTask) -> list[str]:
    problems: list[str] = []
    encoding = vars(task.encoding).values()
    texts = (*task.parties, task.mechanism, *encoding, *sum(task.settings, ()))
    if (
        not all(type(text) is str for text in texts)
        or "" in task.parties
        or len(set(task.parties)) != len(task.parties)
    ):
        problems.append("parties must be distinct names; mechanism, encoding and settings must be texts")
    if len(task.parties) > MAX_PARTIES:
        problems.append(f"parties must be {MAX_PARTIES} at most, found {len(task.parties)}")
    if task.settings != tuple(sorted(dict(task.settings).items())):
        problems.append("settings must be sorted by name, each named once")
    times = vars(task.deadlines).values()
    if not all(_whole(time, 0, LAST_SECOND) for time in times) or not _in_order(task.deadlines):
        problems.append("deadlines must be whole seconds: opens, then enrolment, then reports")
    if not all(_whole(number, 1, MAX_WEIGHT) for number in vars(task.least).values()):
        problems.append(f"least reports must be whole numbers from 1 to {MAX_WEIGHT}")
    return problems


def _in_order(deadlines: Deadlines) -> bool:
    return deadlines.opens <= deadlines.enrolment <= deadlines.reports
