"""What a device has answered and spent, without its values."""

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.table import Table

from treetop.adapters.system.device_state import DeviceState, Event
from treetop.cli.screen import out
from treetop.federation.device.ledger import LedgerEntry


def show_status(state: DeviceState) -> None:
    """Print the ledger: what every attribute has cost, and what was sent when."""
    ledger = state.ledger
    if not ledger.entries:
        out.print("Nothing was answered yet, nothing was spent.")
        return
    for attribute in dict.fromkeys(entry.attribute for entry in ledger.entries):
        cap = float(ledger.caps.lifetime)
        out.print(f"{attribute}: epsilon {float(ledger.spent(attribute)):g} of {cap:g} spent", markup=False)
    out.print(_table(ledger.entries, state.events()))


def _table(entries: Iterable[LedgerEntry], events: Iterable[Event]) -> Table:
    names = {event.task: event.name for event in events}
    sent = {event.task: event.time for event in events if event.deed == "sent"}
    table = Table(box=None, pad_edge=False)
    for title in ("task", "attribute", "epsilon", "level", "report", "last sent"):
        table.add_column(title)
    for entry in entries:
        task = entry.task.hex()
        state = "delivered" if entry.delivered else "made" if entry.sent else "reserved"
        table.add_row(
            f"{names.get(task, '')} {task[:12]}".strip(), entry.attribute, f"{float(entry.epsilon):g}",
            str(entry.group.level), state, _shown(sent.get(task)),
        )  # fmt: skip
    return table


def _shown(time: int | None) -> str:
    return "-" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
