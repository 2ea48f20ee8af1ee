"""Answers and evaluations for a person to read: bars, marks, tables, and what to know before using them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from treetop.answers.answer import MARKS, SIMULATED, SIMULATION, Answer
from treetop.cli.output import deliver
from treetop.cli.screen import note, out, plain
from treetop.evaluation.campaigns import CampaignRow
from treetop.evaluation.evaluate import Row
from treetop.federation.device.ledger import Caps
from treetop.metrics.answer_quality import Advice
from treetop.privacy.epsilon import Epsilon
from treetop.public_text import visible

WIDE_NAME = 10
WIDTH = 20
NARROW = 8
"""Of a bar, and of one that stands beside long names."""
PEOPLE_ON_EARTH = 8_000_000_000
MAX_NAMED = 8
"""Parties whose share and coverage are listed, the largest first."""
UP = "▲"
DOWN = "▼"
NEW = "+"
CHANGES = {"up": UP, "down": DOWN, "new": NEW}


def present(answer: Answer, json: bool, output: Path | None = None) -> None:
    """Print an answer as JSON alone or for a person; its notes go to standard error either way."""
    for said in answer.notes:
        note(said.text)
    for choice in answer.choices if json else ():
        note(f"{answer.mechanism}: {choice.text}")
    deliver(answer.to_json(), lambda: show(answer), json_only=json, output=output, result=answer)


def present_campaign(answers: Sequence[Answer], json: bool, output: Path | None = None) -> None:
    """Print the answers of a campaign's weeks: as a JSON list alone, or for a person a line for each."""
    for said in dict.fromkeys(said for answer in answers for said in answer.notes):
        note(said.text)
    content = [answer.to_json() for answer in answers]
    deliver(content, lambda: _show_campaign(answers), json_only=json, output=output)


def _show_campaign(answers: Sequence[Answer]) -> None:
    if not answers:
        out.print("No week has an answer.")
        return
    out.print(answers[0].title, style="bold")
    table = Table(box=None, pad_edge=False)
    for name in ("week", "reports", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("items, with what changed", overflow="fold")
    table.add_column("gone", overflow="fold")
    for answer in answers:
        truth = "" if answer.truth is None else f"{answer.truth.f1:.2f}"
        week = "" if answer.campaign is None else str(answer.campaign.week)
        table.add_row(week, f"{answer.users:,}", truth, _marked_items(answer), ", ".join(_gone(answer)))
    out.print(fitted(table))
    out.print(f"{UP} {DOWN} changed beyond noise since the week before; {NEW} that week does not count it.")
    out.print(f"Privacy of a user's items in all weeks together: {answers[0].privacy}.")


def _marked_items(answer: Answer) -> str:
    """Name the items, each behind its mark."""
    place = answer.campaign
    marks = {} if place is None else {change.item: CHANGES.get(str(change.mark), "") for change in place.changes}
    return ", ".join(f"{marks.get(row.item, '')}{row.item}" for row in answer.items)


def _gone(answer: Answer) -> list[str]:
    return [] if answer.campaign is None else [each.item for each in answer.campaign.changes if each.mark == "gone"]


def show(answer: Answer) -> None:
    """Print the items with their error bars, who took part, and what the answer is worth."""
    out.print(answer.title, style="bold")
    tables = [_items_table(answer, bars=bars, parties=parties) for bars, parties in ((True, True), (False, True))]
    out.print(next(filter(fits, tables), None) or fitted(_items_table(answer, bars=False, parties=False)))
    if any(row.significant is not None for row in answer.items):
        out.print(answer.marks_line)
    if any(row.source == "unknown" for row in answer.items):
        out.print(
            "#: the hash of a name that could not be read, for want of reports or because noise made it up"
            f"{'' if answer.truth is None else '; F1 counts it as missed'}. Names on a --word-list are read from fewer "
            "reports."
        )
    if answer.partly_counted:
        out.print(
            f"{answer.partly_counted} of {len(answer.items)} counts leave out whoever holds the item in a party that "
            "did not name it."
        )
    if answer.outside is not None:
        outside = answer.outside
        true = "" if outside.true_share is None else f" (true: {outside.true_share:.2%})"
        out.print(
            f"{share(outside.share)} ± {outside.stderr:.2%} of users hold an item that is not in the catalogue{true}."
        )
    if answer.truth is not None:
        scores = f"F1 {answer.truth.f1:.2f}, NCR {answer.truth.ncr:.2f} against the true top {answer.k}"
        out.print(f"{scores} (1 is the best; in NCR the most popular weigh most).")
    if answer.mode == SIMULATION:
        out.print(SIMULATED, style="bold")
    _show_parties(answer)
    out.print(answer.privacy_line)
    for line in central_lines(answer):
        out.print(line)
    if answer.fakes_needed is not None:
        out.print(f"About {answer.fakes_needed:,} fake users could push an item that nobody holds into the top k.")
    for choice in answer.choices:
        out.print(f"{answer.mechanism}: {choice.text}", style="dim")
    if not answer.items:
        out.print("Nothing rose above the noise: there are too few users for this epsilon.")
    if answer.advice is not None:
        out.print(_advice_line(answer, answer.advice))


def central_lines(answer: Answer) -> list[str]:
    """Say of every party, the smallest first, what its users are promised towards the server, and what towards it."""
    local = Epsilon(answer.privacy.epsilon)
    smallest = sorted(answer.parties, key=lambda party: party.users)
    lines = [f"{each.name}: {each.central.beside(local)}." for each in smallest if each.central is not None]
    if (more := len(lines) - MAX_NAMED) > 0:
        lines = [*lines[:MAX_NAMED], f"{more:,} larger parties: --json has what is promised towards the server."]
    return lines


def fits(table: Table) -> bool:
    """Return whether a table can be printed without breaking a name or a number."""
    return Measurement.get(out, out.options.update(width=10_000), table).maximum <= out.width


def fitted(table: Table) -> RenderableType:
    """Return a table, or on a screen too narrow for it every row as lines of a name and its number."""
    if fits(table):
        return table
    titles = [str(column.header) for column in table.columns]
    lines: list[RenderableType] = []
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first = 2 if titles[0] == "" else 1  # a rank, and what has it
        lines.append(Text(" ".join(_written(cell) for cell in cells[:first]), style="bold", overflow="fold"))
        for title, cell in zip(titles[first:], cells[first:], strict=True):
            if written := _written(cell):
                lines.append(Text(f"  {title}: {written}", overflow="fold"))
    return Group(*lines)


def _written(cell: RenderableType) -> str:
    return plain(visible(cell.plain.replace("\n", " ") if isinstance(cell, Text) else str(cell))).strip()


def _items_table(answer: Answer, *, bars: bool, parties: bool) -> Table:
    """Lay the items out with a column for everything that is known of one of them."""
    counted, true, sourced = (
        any(getattr(row, name) is not None for row in answer.items) for name in ("parties", "true_count", "source")
    )
    width = NARROW if sourced else WIDTH
    counted = counted and parties
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("item", overflow="fold")
    if bars:
        table.add_column("", no_wrap=True, min_width=width)
    for name in ("users", "share", *(["true"] if true else []), *(["parties"] if counted else [])):
        table.add_column(name, justify="right", no_wrap=True)
    if sourced:
        table.add_column("name", no_wrap=True)
    largest = max((row.count + row.stderr for row in answer.items), default=0.0)
    for rank, row in enumerate(answer.items, start=1):
        cells: list[str | Text] = [f"{rank} {MARKS[row.significant]}".rstrip(), row.item]
        cells += [bar(row.count, row.stderr, largest, width)] if bars else []
        cells += [rounded(row.count, row.stderr), share(row.frequency)]
        cells += [f"{row.true_count:,}"] if true else []
        cells += [f"{row.parties}/{len(answer.parties)}"] if counted else []
        cells += [str(row.source)] if sourced else []
        table.add_row(*cells)
    return table


def bar(count: float, stderr: float, largest: float, width: int = WIDTH) -> Text:
    """Draw a bar up to the estimate; its shaded end spans one standard error to either side."""
    scale = width / largest if largest > 0 else 0.0
    low, middle, high = (min(max(round(end * scale), 0), width) for end in (count - stderr, count, count + stderr))
    drawn = Text("█" * low, style="blue")
    drawn.append("▓" * (middle - low), style="blue")
    drawn.append("░" * (high - middle), style="blue")
    drawn.append(" " * (width - high))
    return drawn


def share(frequency: float) -> str:
    """Write an estimated share; noise may lift an estimate above all users, or below none."""
    return f"{min(max(frequency, 0.0), 1.0):.2%}"


def rounded(count: float, stderr: float) -> str:
    """Write an estimate with its standard error."""
    return f"{count:,.0f} ± {stderr:,.0f}"


def _show_parties(answer: Answer) -> None:
    """Say who took part with which share, whose reports look wrong, who is missing, and how many users that leaves."""
    bits = [party.uplink_bits for party in answer.parties]
    users = f"{answer.users:,} {'user' if answer.users == 1 else 'users'}"
    if len(bits) == 1:
        out.print(f"{users} in 1 party, which sent {bits[0]:,} bits.")
    else:
        out.print(f"{users} in {len(bits)} parties; each party sent {min(bits):,} to {max(bits):,} bits.")
    largest = sorted(answer.parties, key=lambda party: -party.users)
    shares = [f"{party.name} {party.share:.1%}" for party in largest[:MAX_NAMED]]
    if others := largest[MAX_NAMED:]:
        shares.append(f"{len(others)} others {sum(party.share for party in others):.1%}")
    out.print(f"Shares of the users counted: {', '.join(shares)}.")
    for party in answer.parties:
        if party.implausible:
            odd = f"{party.implausible:,} reports of {party.name} are of a kind that no honest device sends"
            out.print(f"Warning: {odd}.", style="yellow")
    for missing in answer.missing:
        expected = "" if missing.expected is None else f"; {missing.expected:,} users expected"
        out.print(f"Missing: {missing.name} ({missing.reason}{expected}).", style="yellow")
    out.print(coverage_line(answer))


def coverage_line(answer: Answer) -> str:
    """Say what share of the users the answer stands for, in all and of the parties where that differs."""
    covered = answer.covered
    if covered.share is None:
        return "How many users are covered is not known: nobody said how many the missing parties have."
    line = f"{covered.share:.1%} of the {covered.of} {covered.known:,} users are covered"
    largest = sorted(answer.parties, key=lambda party: -party.users)
    differing = [party for party in largest if party.coverage not in (None, 1.0)]
    if differing:
        named = [f"{party.name} {party.coverage:.1%} of {party.expected:,}" for party in differing[:MAX_NAMED]]
        return f"{line}: {', '.join(named)}{', …' * (len(differing) > MAX_NAMED)}."
    if all(party.expected is None for party in answer.parties):
        return f"{line}; parties' sizes are their own word, no numbers were expected."
    return f"{line}."


def _advice_line(answer: Answer, advice: Advice) -> str:
    """Say how many users, or which epsilon, would lift the last item out of the noise, if anybody holds it."""
    swamped = f"Noise swamps item {len(answer.items)}: its estimate is below {advice.clear:.2g} standard errors"
    if advice.users_factor is None:
        if any(row.significant is not False for row in answer.items):
            return f"{swamped}, and nobody holds it: noise put it there. Ask for fewer items (--k)."
        return f"{swamped}, and nobody holds it. No item stands out: there are too few users for this epsilon."
    users = int(float(f"{answer.users * advice.users_factor:.1e}"))
    most = float(Caps.per_task)
    if advice.epsilon is not None:
        epsilon = f"epsilon {advice.epsilon:g} would, too"
    elif answer.epsilon >= most:
        epsilon = f"devices accept no epsilon above {most:g}"
    else:
        epsilon = f"no epsilon up to {most:g}, the most that devices accept, would"
    if users > PEOPLE_ON_EARTH:
        return f"{swamped}. More users than there are people would be needed to show it; {epsilon}."
    return f"{swamped}. About {users:,} users like these would show it; {epsilon}."


def evaluation_table(rows: Iterable[Row]) -> Table:
    """Lay the rows of an evaluation out, more closely where a variant has a long name."""
    rows = tuple(rows)
    long = any(len(row.mechanism) > WIDE_NAME for row in rows)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0) if long else (0, 1))
    for name in ("mechanism", "oracle"):
        table.add_column(name, no_wrap=True)
    for name in ("ε", "k", "F1", "NCR", "recall", "kbit up", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row.cells)
    return table


def campaign_table(rows: Iterable[CampaignRow]) -> Table:
    """Lay out how campaigns went: the mean of all weeks but the first, then the first and the last."""
    table = Table(box=None, pad_edge=False)
    for name in ("mechanism", "who answers"):
        table.add_column(name, no_wrap=True)
    for name in ("ε a cycle", "ε a report", "k", "F1, weeks 2-", "week 1", "last", "ms a week"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        f1 = f"{row.f1:.3f}" if row.f1_se is None else f"{row.f1:.3f} ± {row.f1_se:.3f}"
        ends = (f"{row.f1_of_weeks[0]:.3f}", f"{row.f1_of_weeks[-1]:.3f}", f"{row.seconds * 1000:.0f}")
        spent = (f"{row.epsilon:g}", f"{row.weekly_epsilon:.3g}", str(row.k))
        table.add_row(row.mechanism, row.design, *spent, f1, *ends)
    return table
