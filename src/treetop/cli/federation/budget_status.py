"""What a device has spent, what is left and which weeks are its own, in plain words."""

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction

from treetop.federation.campaign import DAY
from treetop.federation.device.ledger import Ledger
from treetop.federation.device.ledger_entries import CycleSlot


def budget_lines(ledger: Ledger) -> Iterator[str]:
    """Yield a line for each thing that the device's owner may want to know; no value is among them."""
    if not ledger.charges:
        yield "Nothing was answered yet, nothing was spent."
        return
    caps, spent = ledger.caps, ledger.spent
    yield f"Epsilon {_number(spent)} of {_number(caps.lifetime)} spent in all; asked about {ledger.attribute!r} only."
    within = ledger.in_window
    counted = sum((charge.epsilon for charge in within), start=Fraction(0))
    left = min(caps.lifetime - spent, caps.window - counted, caps.per_task)
    if spent >= caps.lifetime:
        yield "The lifetime budget is spent: this device takes up nothing more."
    else:
        yield (
            f"In the last {caps.window_seconds // DAY} days epsilon {_number(counted)} of {_number(caps.window)} was "
            f"spent; a question may cost epsilon {_number(max(left, Fraction(0)))} now."
        )
        for charge in within:
            back = datetime.fromtimestamp(charge.time + caps.window_seconds, UTC)
            yield f"Epsilon {_number(charge.epsilon)} of it is given back on {back:%Y-%m-%d at %H:%M UTC}."
    for slot in ledger.slots:
        yield _slot_line(ledger, slot)


def _slot_line(ledger: Ledger, slot: CycleSlot) -> str:
    answered = any(entry.cycle == (slot.campaign, slot.cycle) for entry in ledger.entries)
    done = "it was answered" if answered else "it has not been answered"
    drawn = datetime.fromtimestamp(slot.time, UTC)
    return (
        f"Campaign {slot.name!r}, cycle {slot.cycle + 1}: this device's own week is {slot.slot + 1} of {slot.weeks}, "
        f"drawn on {drawn:%Y-%m-%d}; {done}. The whole cycle costs epsilon {_number(slot.epsilon)}."
    )


def _number(amount: Fraction) -> str:
    return f"{float(amount):g}"
