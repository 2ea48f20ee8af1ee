from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from tests.support.campaigns import STARTS, SetClock

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.errors import BudgetExceeded, LedgerRefused, PromiseBroken, QuestionRefused
from treetop.federation.campaign import DAY
from treetop.federation.device.ledger import Caps, Ledger, LedgerEntry
from treetop.trie.user_groups import Group, Role

ENTRY = LedgerEntry(b"t" * 32, "favourite", Group(2, Role.VALIDATE_FREQUENT), bytes(32), Fraction(1, 3))


def entry(name: str, epsilon: str = "1", attribute: str = "favourite") -> LedgerEntry:
    return replace(ENTRY, task=name.encode().ljust(32), epsilon=Fraction(epsilon), attribute=attribute)


def test_a_ledger_is_read_back() -> None:
    store, counter = MemoryLedger(), MemoryCounter()
    ledger = Ledger(store, counter)
    ledger.reserve(ENTRY)
    ledger.settle(ENTRY.task, b"report")
    again = Ledger(store, counter)
    assert again.entry(ENTRY.task) == replace(ENTRY, sent=b"report")
    assert again.undelivered() == [replace(ENTRY, sent=b"report")]
    again.mark_delivered(ENTRY.task)
    again.mark_delivered(ENTRY.task)
    assert Ledger(store, counter).undelivered() == []
    assert counter.read() == 3


def test_costs_add_up_exactly_however_the_attribute_is_spelt() -> None:
    ledger = Ledger(MemoryLedger(), MemoryCounter())
    assert ledger.spent == 0
    for number in range(3):
        ledger.reserve(entry(str(number), "1/3"))
    ledger.reserve(entry("other", "0.1", " FAVOURITE\u200b"))
    assert ledger.spent == Fraction(11, 10)


def test_the_first_task_names_the_attribute_unless_the_owner_did() -> None:
    store, counter = MemoryLedger(), MemoryCounter()
    ledger = Ledger(store, counter)
    assert ledger.attribute is None
    ledger.reserve(entry("one", "0.1"))
    for again in (ledger, Ledger(store, counter)):
        assert again.attribute == "favourite"
        with pytest.raises(QuestionRefused, match="expected 'favourite', found 'another'"):
            again.reserve(entry("two", "0.1", "another"))
    owned = Ledger(store, counter, Caps(attribute="another"))
    owned.reserve(entry("two", "0.1", "another"))
    assert owned.spent == Fraction(1, 5)


def test_a_ledger_of_another_version_is_refused() -> None:
    for version in (1, 3):
        text = b'{"counter":0,"entries":[],"slots":[],"version":%d}' % version
        sealed = text + b"\n" + sha256(text).hexdigest().encode("ascii") + b"\n"
        with pytest.raises(LedgerRefused) as refused:
            Ledger(MemoryLedger(sealed), MemoryCounter())
        assert (refused.value.what, refused.value.found) == ("version", str(version))


def test_the_caps_are_kept() -> None:
    clock = SetClock()
    ledger = Ledger(MemoryLedger(), MemoryCounter(), clock=clock)
    with pytest.raises(BudgetExceeded, match="task cap is epsilon 4"):
        ledger.reserve(entry("dear", "4.1"))
    ledger.reserve(entry("one", "4"))
    with pytest.raises(BudgetExceeded, match="window cap is epsilon 4, this answer would bring it to 4001/1000"):
        ledger.reserve(entry("two", "0.001"))
    clock.time += 84 * DAY
    ledger.reserve(entry("two", "4"))
    with pytest.raises(BudgetExceeded, match="lifetime cap is epsilon 8") as refused:
        ledger.reserve(entry("three", "0.001"))
    assert refused.value.found == "8001/1000"


def test_a_window_counts_to_the_second_and_in_exact_rationals() -> None:
    clock = SetClock()
    caps = Caps(lifetime=Fraction(100), window=Fraction(1), window_seconds=10)
    ledger = Ledger(MemoryLedger(), MemoryCounter(), caps, clock)
    for number in range(3):
        ledger.reserve(entry(str(number), "1/3"))
        clock.time += 1
    assert [charge.time for charge in ledger.in_window] == [STARTS, STARTS + 1, STARTS + 2]
    for second, free in ((9, "0"), (10, "1/3"), (11, "2/3"), (12, "1")):
        clock.time = STARTS + second
        with pytest.raises(BudgetExceeded, match="window"):
            ledger.check_allowed("favourite", Fraction(free) + Fraction(1, 10**18))
        ledger.check_allowed("favourite", Fraction(free))


def test_a_clock_that_is_set_back_renews_nothing() -> None:
    store, counter, clock = MemoryLedger(), MemoryCounter(), SetClock()
    Ledger(store, counter, clock=clock).reserve(entry("one", "4"))
    clock.time += 84 * DAY
    Ledger(store, counter, clock=clock).reserve(entry("two", "3"))
    clock.time = 0
    again = Ledger(store, counter, Caps(lifetime=Fraction(100)), clock)
    assert again.now == STARTS + 84 * DAY
    with pytest.raises(BudgetExceeded, match="window"):
        again.reserve(entry("three", "2"))
    again.reserve(entry("three", "1"))
    assert [each.time for each in again.entries] == [STARTS, STARTS + 84 * DAY, STARTS + 84 * DAY]


def test_without_a_clock_no_window_is_renewed() -> None:
    ledger = Ledger(MemoryLedger(), MemoryCounter())
    ledger.reserve(entry("one", "4"))
    with pytest.raises(BudgetExceeded, match="window"):
        ledger.reserve(entry("two", "1"))


def test_a_user_may_set_other_caps() -> None:
    ledger = Ledger(MemoryLedger(), MemoryCounter(), Caps(Fraction(1), Fraction(1)))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(entry("one", "1.01"))


def test_a_task_has_one_entry_and_one_report() -> None:
    ledger = Ledger(MemoryLedger(), MemoryCounter())
    ledger.reserve(ENTRY)
    with pytest.raises(PromiseBroken, match="entry"):
        ledger.reserve(ENTRY)
    ledger.settle(ENTRY.task, b"report")
    with pytest.raises(PromiseBroken, match="report"):
        ledger.settle(ENTRY.task, b"another")


def test_an_old_ledger_is_refused() -> None:
    store, counter = MemoryLedger(), MemoryCounter()
    ledger = Ledger(store, counter)
    old = store.load()
    ledger.reserve(ENTRY)
    older = store.load()
    ledger.settle(ENTRY.task, b"report")
    for restored in (old, older):
        with pytest.raises(LedgerRefused, match="counter should be 2 at least"):
            Ledger(MemoryLedger(restored), counter)
    Ledger(store, counter)


def test_a_crash_between_ledger_and_counter_is_made_good() -> None:
    store, counter = MemoryLedger(), MemoryCounter()
    Ledger(store, counter).reserve(ENTRY)
    behind = MemoryCounter(0)
    assert Ledger(store, behind).entry(ENTRY.task) == ENTRY
    assert behind.read() == 1


@pytest.mark.parametrize("place", range(0, 300, 7))
def test_every_damaged_byte_is_noticed(place: int) -> None:
    store = MemoryLedger()
    Ledger(store, MemoryCounter()).reserve(ENTRY)
    whole = store.load() or b""
    damaged = bytearray(whole)
    damaged[place % len(whole)] ^= 1
    for broken in (bytes(damaged), whole[:place], whole + b"x"):
        with pytest.raises(LedgerRefused):
            Ledger(MemoryLedger(broken), MemoryCounter())


@pytest.mark.parametrize(
    "text",
    [
        b'{"counter":0,"entries":[],"version":3}',
        b'{"counter":0,"entries":[],"version":2}',
        b'{"counter":0,"entries":[{}],"version":1}',
        b"[]",
        b"nothing",
        b"{}",
    ],
)
def test_a_ledger_of_another_kind_is_refused(text: bytes) -> None:
    with pytest.raises(LedgerRefused):
        Ledger(MemoryLedger(text + b"\n" + sha256(text).hexdigest().encode() + b"\n"), MemoryCounter())


def test_a_failed_write_changes_nothing() -> None:
    class Full(MemoryLedger):
        def replace(self, ledger: bytes) -> None:
            raise OSError("disk full")

    ledger = Ledger(Full(), MemoryCounter())
    with pytest.raises(OSError, match="full"):
        ledger.reserve(ENTRY)
    assert ledger.entry(ENTRY.task) is None
    assert ledger.spent == 0


def test_an_entry_does_not_show_its_report() -> None:
    assert "canary" not in repr(replace(ENTRY, sent=b"canary"))
