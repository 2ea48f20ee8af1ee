"""Whatever a hostile server asks, by whatever name and key, a device never spends more than its owner allows."""

from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import ENROLMENT, PUBLISHED, question, task, third_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.errors import BudgetExceeded, InvalidInput, PeerViolation, QuestionRefused
from treetop.federation.device.attributes import normalised
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import signed_task
from treetop.trie.user_groups import Group

KEYS = [SigningKey(sha256(bytes([number])).digest()) for number in range(3)]
SAME = (
    "drink", "Drink", "DRINK", " drink", "drink ", "dr\u200bink", "drink\u00ad", "\ufeffdrink", "drink\u2028",
    "\uff44\uff52\uff49\uff4e\uff4b", "drin\ufe0fk", "dr\u034fink", "drin\U000e0041k", "drin\u212a", "\u3164drink",
    "drink\t\u00a0",
)  # fmt: skip
OTHER = ("drinks", "d rink", "dr\u0456nk", "drınk", "weight", "drink 2", "ԁrink", "drìnk")


@dataclass(frozen=True)
class Asked:
    """One task of a hostile server, and what happens to the device around it."""

    attribute: str
    epsilon: str
    name: str
    rounds: bool
    key: int
    restart: bool
    pinned: frozenset[int]

    @property
    def task(self) -> DeviceTask:
        made = third_level("krr", self.epsilon, self.name) if self.rounds else task("olh", self.epsilon, self.name)
        return replace(made, attribute=self.attribute, parties=("north",))


ATTRIBUTES = st.sampled_from(SAME + OTHER) | st.text(min_size=1, max_size=8)
EPSILONS = st.sampled_from(["0.001", "0.5", "1", "2", "3.999", "4", "4.1", "8", "16"])
TASKS = st.builds(
    Asked, ATTRIBUTES, EPSILONS, st.sampled_from("abcdefghijklmnop"), st.booleans(), st.integers(0, 2), st.booleans(),
    st.frozensets(st.integers(0, 2), min_size=1),
)  # fmt: skip
LIFETIMES = st.sampled_from([Fraction(1), Fraction(8), Fraction(17, 2), Fraction(40)])


@settings(max_examples=150)
@given(st.lists(TASKS, max_size=30), LIFETIMES, st.none() | st.sampled_from(SAME + OTHER))
@example([Asked(each, "4", "x", False, 0, True, frozenset({0})) for each in SAME + OTHER], Fraction(8), None)
def test_no_sequence_of_tasks_spends_more_than_the_lifetime_cap(
    asked: list[Asked], lifetime: Fraction, attribute: str | None
) -> None:
    store, counter = MemoryLedger(), MemoryCounter()
    caps = Caps(Fraction(4), lifetime, attribute, window=lifetime)
    ledger, reports, about = Ledger(store, counter, caps), dict[bytes, bytes](), set[str]()
    for number, each in enumerate(asked):
        if each.restart:
            ledger = Ledger(store, counter, caps)
        pins = PinnedKeys([KEYS[key].public for key in sorted(each.pinned)])
        before = store.load()
        try:
            of = TrustedTask.of(signed_task(each.task, KEYS[each.key]), each.task.digest, "north", pins).task
            device = Device(lambda: 77, FixedEntropy(number), ledger)
            report = device.answer(of, ENROLMENT, question(of), PUBLISHED) if each.rounds else device.answer_once(of)
            assert reports.setdefault(of.digest, report) == report
            about.add(normalised(each.attribute))
        except (BudgetExceeded, PeerViolation, InvalidInput):  # a hidden attribute makes no task
            assert store.load() == before
        assert sum((entry.epsilon for entry in ledger.entries), Fraction(0)) == ledger.spent <= lifetime
    assert len(about) <= 1
    assert attribute is None or about <= {normalised(attribute)}


@pytest.mark.parametrize("attribute", SAME)
def test_spellings_that_look_alike_are_one_attribute(attribute: str) -> None:
    assert normalised(attribute) == "drink"
    ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(attribute="drink"))
    ledger.check_allowed(attribute, Fraction(1))


@pytest.mark.parametrize("attribute", OTHER)
def test_letters_of_another_alphabet_are_another_attribute(attribute: str) -> None:
    """A confusable letter is refused: the safe side, since it can start no budget of its own."""
    assert normalised(attribute) != "drink"
    ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(attribute="drink"))
    with pytest.raises(QuestionRefused, match="attribute of the task: expected 'drink'"):
        ledger.check_allowed(attribute, Fraction(1))


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f"\u200b {text.upper()}\u00ad") == normalised(text.upper())


def test_another_attribute_is_refused_before_anything_is_drawn() -> None:
    entropy, group = FixedEntropy(1), Group(3)
    ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(attribute="weight"))
    device = Device(lambda: 77, entropy, ledger)
    with pytest.raises(QuestionRefused, match="attribute of the task: expected 'weight', found 'favourite'"):
        device.answer_once(task())
    of = third_level()
    assert question(of).group == group
    with pytest.raises(QuestionRefused, match="attribute of the task"):
        device.answer(of, ENROLMENT, question(of), PUBLISHED)
    assert entropy.total == 0
    assert ledger.entries == ()
