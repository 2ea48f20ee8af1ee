"""The audit's empirical checks, run on the JavaScript device through the wire format: the bytes that it would send.

2,000 reports for each of two values, with fixed random bytes, see an excess over epsilon 1 of about 0.5 with 99.9 %
power. 50,000 with the operating system's (slow) see one of 0.1; an honest device fails there once in 1,000 runs. Of two
sets without a common item, by whether the reported bucket is one of the first set alone, or of the second alone, 4,000
reports see an excess of 0.42 where the sets have two items each, and 50,000 (slow) one of 0.17 where they have eight.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log

import numpy as np
import pytest
from scipy import stats
from tests.statistical.settings import FALSE_ALARM
from tests.support.typescript import built, node

from treetop.audit.chosen_inputs import BITS, FIRST, SECOND, Audited, audited
from treetop.audit.empirical_epsilon import Counts, epsilon_bound, telling_event, visible_excess
from treetop.audit.oracle_laws import event_law
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.protocol import key_of
from treetop.oracles.registry import ORACLES
from treetop.oracles.set_reports import SetFace, SetQuestion
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group

BUDGET = Budget("1")
QUICK, SLOW = 2_000, 50_000


class NodeDevices:
    """Devices in one Node process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def reports(self, asked: Audited, code: int | None, count: int, *, fixed: bool = True) -> list[bytes]:
        question = asked.question
        job = {
            "task": asked.task.canonical_bytes().decode(), "code": None if code is None else str(code), "count": count,
            "prefixes": [str(prefix) for prefix in question.prefixes], "length": question.length,
            "group": [question.group.level, question.group.role.value],
            "seed": f"{asked.task.oracle} {code}" if fixed else None,
        }  # fmt: skip
        return self._made(job, count)

    def set_reports(self, task: DeviceTask, codes: Sequence[int | None], count: int, *, fixed: bool) -> list[bytes]:
        job = {
            "task": task.canonical_bytes().decode(), "code": [None if code is None else str(code) for code in codes],
            "count": count, "prefixes": [], "length": 0, "group": [1, "estimate"],
            "seed": f"{task.oracle} {codes}" if fixed else None,
        }  # fmt: skip
        return self._made(job, count)

    def _made(self, job: Mapping[str, object], count: int) -> list[bytes]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        lines = [line.strip() for line in iter(self._process.stdout.readline, "\n")]
        assert len(lines) == count
        return [bytes.fromhex(line) for line in lines]


@contextmanager
def node_devices() -> Iterator[NodeDevices]:
    script = built() / "build" / "tests" / "support" / "reports.js"
    command = [node(), "--no-warnings", str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield NodeDevices(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def devices() -> Iterator[NodeDevices]:
    with node_devices() as devices:
        yield devices


def events(devices: NodeDevices, asked: Audited, code: int, trials: int, *, fixed: bool) -> Counts:
    """Count how often reports support the two values, as the audit does for Python devices."""
    first, second = asked.asked_value(FIRST), asked.asked_value(SECOND)
    counts: Counts = Counter()
    for batch in devices.reports(asked, code, trials, fixed=fixed):
        (report,) = decoded_batch(batch).reports()
        counts[asked.face.supports(report, first), asked.face.supports(report, second)] += 1
    return counts


def stated_law(asked: Audited) -> dict[tuple[bool, bool], float]:
    """Return how likely a report supports the true value, and another: two keys hash alike with probability 1/g."""
    face, g = asked.face, asked.face.slots
    if not asked.task.one_shot:
        values = asked.asked_value(FIRST), asked.asked_value(SECOND)
        return {event: float(share) for event, share in event_law(face, values[0], values).items()}
    kept = face.thresholds[0] / 2**64
    p = kept if asked.task.oracle == "olh" else kept + (1 - kept) / g
    other = (1 - p) / (g - 1) * (1 - 1 / g)
    return {(True, True): p / g, (True, False): p - p / g, (False, True): other, (False, False): 1 - p - other}


def check(devices: NodeDevices, oracle: str, trials: int, *, fixed: bool) -> None:
    asked = audited(ORACLES[oracle], BUDGET)
    found = {code: events(devices, asked, code, trials, fixed=fixed) for code in (FIRST, SECOND)}
    bound = epsilon_bound(found[FIRST], found[SECOND], trials)
    power = visible_excess(*telling_event(asked), trials)
    assert bound <= BUDGET.amount
    assert bound + power >= BUDGET.amount  # as much as these trials show of an honest device: the check has teeth
    for code, counts in found.items():  # and each value's events have the law that the oracle's page states
        law = {event if code == FIRST else event[::-1]: share for event, share in stated_law(asked).items()}
        expected = [(counts[event], trials * share) for event, share in law.items() if share]
        assert sum(count for count, _ in expected) == trials
        assert stats.chisquare(*map(list, zip(*expected, strict=True))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("oracle", ["krr", "oue", "olh", "walsh"])
def test_reports_show_no_more_than_epsilon(devices: NodeDevices, oracle: str) -> None:
    check(devices, oracle, QUICK, fixed=True)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["krr", "oue", "olh", "walsh"])
def test_many_reports_show_no_more_than_epsilon(devices: NodeDevices, oracle: str) -> None:
    check(devices, oracle, SLOW, fixed=False)


def test_an_item_without_a_code_is_answered_like_any_other(devices: NodeDevices) -> None:
    for oracle in ORACLES.values():
        asked = audited(oracle, BUDGET)
        lengths = {len(report) for code in (FIRST, None) for report in devices.reports(asked, code, 20)}
        assert lengths == {77 + asked.face.width}


SETS_QUICK, SETS_SLOW = 4_000, 50_000
Events = Counter[tuple[bool, bool]]


def about_sets(oracle: str, m: int) -> tuple[DeviceTask, SetFace]:
    groups = (WeightedGroup(Group(1), 1),)
    task = DeviceTask("audit", "audit", BUDGET, oracle, 10, (0, BITS), groups, sets=SetQuestion(m, "holders"))
    face = task.unlisted_face
    assert isinstance(face, SetFace)
    return task, face


def counted(face: SetFace, batches: Sequence[bytes], first: Sequence[int], second: Sequence[int]) -> Events:
    """Count how often reports support some of the first codes, and some of the second."""
    counts = Events()
    for batch in batches:
        (report,) = decoded_batch(batch).reports()
        one, two = (any(face.supports(report, key_of(code)) for code in codes) for codes in (first, second))
        counts[one, two] += 1
    return counts


def telling_shares(face: SetFace, m: int) -> tuple[float, float]:
    """Return how likely a bucket of one set alone is reported: by who holds it, and by who holds the other one.

    Over 20,000 throws of both sets into t buckets; given a seed, every such bucket has A words, or as many as others.
    """
    own, t = face.own / 2**64, face.slots
    p = q = 0.0
    throws = np.random.default_rng(1).integers(0, t, (20_000, 2, m)).tolist()
    for mine, others in ((set(one), set(two)) for one, two in throws):
        alone, h = len(mine - others), len(others)
        p, q = p + alone * own, q + alone * (1 - h * own) / (t - h)
    return p / len(throws), q / len(throws)


def check_sets(devices: NodeDevices, oracle: str, m: int, trials: int, *, fixed: bool) -> None:
    task, face = about_sets(oracle, m)
    sets = range(m), range(m, 2 * m)
    made = [devices.set_reports(task, codes, trials, fixed=fixed) for codes in sets]
    first, second = (Counter[Hashable](counted(face, batches, *sets)) for batches in made)
    bound, (p, q) = epsilon_bound(first, second, trials), telling_shares(face, m)
    assert bound <= BUDGET.amount
    assert bound + visible_excess(p, q, trials) >= log(p / q)  # as much as these trials show of an honest device
    # over all seeds a code that is not in the set is supported with probability 1/t, whatever else is reported
    A, miss = face.own / 2**64, 1 - 1 / face.slots
    law = {(True, True): A * (1 - miss), (True, False): A * miss, (False, True): (1 - A) * (1 - miss)}
    law[False, False] = (1 - A) * miss
    for batches, pair in zip(made, ((0, m), (m, 0)), strict=True):
        counts = counted(face, batches, pair[:1], pair[1:])
        expected = [(counts[event], trials * share) for event, share in law.items()]
        assert sum(count for count, _ in expected) == trials
        assert stats.chisquare(*map(list, zip(*expected, strict=True))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("oracle", ["olh", "walsh"])
def test_reports_of_sets_show_no_more_than_epsilon(devices: NodeDevices, oracle: str) -> None:
    check_sets(devices, oracle, 2, SETS_QUICK, fixed=True)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["olh", "walsh"])
def test_many_reports_of_sets_show_no_more_than_epsilon(devices: NodeDevices, oracle: str) -> None:
    check_sets(devices, oracle, 8, SETS_SLOW, fixed=False)


@pytest.mark.parametrize("oracle", ["olh", "walsh"])
def test_of_a_larger_set_every_item_is_spoken_of_as_often(devices: NodeDevices, oracle: str) -> None:
    """A device that always spoke of its first, or its last, items would be seen: their share is 0.24 then, not 0.15."""
    m, held = 2, 10
    task, face = about_sets(oracle, m)
    own, q, chosen = face.own / 2**64, 1 / face.slots, m / held
    batches = devices.set_reports(task, range(held), QUICK, fixed=True)
    for code in (0, held - 1):
        supported = counted(face, batches, [code], [])[True, False]
        assert stats.binomtest(supported, QUICK, chosen * own + (1 - chosen) * q).pvalue > FALSE_ALARM


@pytest.mark.parametrize("oracle", ["olh", "walsh"])
def test_sets_of_any_kind_are_answered_alike(devices: NodeDevices, oracle: str) -> None:
    task, face = about_sets(oracle, 8)
    kinds: list[Sequence[int | None]] = [[], [7], [7] * 9, [None] * 3, range(256), [3, None, 1 << 40]]
    sizes = {len(report) for codes in kinds for report in devices.set_reports(task, codes, 20, fixed=True)}
    assert sizes == {77 + face.width}
