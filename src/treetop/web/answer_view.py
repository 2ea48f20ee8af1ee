"""An answer as a page shows it: bars, shares by party, missing parties, and the promise to each audience."""

from collections.abc import Sequence
from dataclasses import dataclass

from treetop.answers.answer import SIMULATION, Answer, standing_out
from treetop.answers.parts import AnswerItem
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee
from treetop.web.drawings.charts import MARKS, Bar, Home, bars, homes, row_bar, shares
from treetop.web.drawings.promise import Station, data_flow, guesses_sentence, people, right_guesses
from treetop.web.drawings.svg import Picture, percent, whole

SOURCES = {
    "listed": "from the list",
    "recovered": "read from reports",
    "unknown": "hash, not read",
}
CHANGES = {
    "up": ("▲", "more than the week before, beyond noise"),
    "down": ("▼", "less than the week before, beyond noise"),
    "new": ("+", "the week before does not count it"),
}
"""Marks of a change from week to week, and their meaning."""
REFUSALS = {
    "not_my_week": "have another week",
    "budget_window": "have spent this window's budget",
    "budget_lifetime": "have spent all of theirs",
    "budget_task": "do not spend so much at once",
}
MAX_PARTIES = 12
"""Parties that a strip or a panel names, the largest first; a strip draws the others as one."""
MAX_HOMES = 12
"""Panels of items, the most popular first."""


@dataclass(frozen=True)
class ItemRow:
    """One item of the answer, as a row of the table."""

    rank: int
    item: str
    bar: Picture
    mark: str
    meaning: str
    users: str
    share: str
    source: str
    true_count: str
    change: str
    changed: str
    """The meaning of `change`."""


@dataclass(frozen=True)
class Promise:
    """A sentence to one audience."""

    to: str
    said: str


@dataclass(frozen=True)
class AnswerView:
    """The values of the template of an answer."""

    title: str
    name: str
    rows: tuple[ItemRow, ...]
    marked: str
    strip: Picture
    covered: str
    homes: tuple[Picture, ...]
    promises: tuple[Promise, ...]
    people: Picture
    week: str
    """In a campaign: its week, and the items that are gone since the week that it is compared with."""
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    choices: tuple[str, ...]
    exports: str
    """The address of the exports, without their ending."""


def view_of(answer: Answer, exports: str) -> AnswerView:
    """Return the values to show of an answer whose exports have this address."""
    drawn = bars_of(answer)
    changes = {} if answer.campaign is None else {each.item: each.mark for each in answer.campaign.changes}
    marks = [row.significant for row in answer.items if row.significant is not None]
    return AnswerView(
        title=answer.title,
        name=answer.name or ("Simulated answer" if answer.mode == SIMULATION else "Answer"),
        rows=tuple(_row(rank, row, drawn, changes.get(row.item)) for rank, row in enumerate(answer.items, start=1)),
        marked=standing_out(marks) if marks else "",
        strip=_strip(answer),
        covered=coverage(answer),
        homes=homes_of(answer),
        promises=promises(answer),
        people=people(right_guesses(Epsilon(answer.privacy.epsilon))),
        week=_week(answer),
        facts=_facts(answer),
        warnings=_warnings(answer),
        notes=tuple(note.text for note in answer.notes),
        choices=tuple(choice.text for choice in answer.choices),
        exports=exports,
    )


def bars_of(answer: Answer) -> list[Bar]:
    """Return the items as bars."""
    return [
        Bar(row.item, row.count, row.stderr, row.frequency, row.significant, row.true_count) for row in answer.items
    ]


def chart(answer: Answer) -> Picture:
    """Return the whole answer as one picture, for a file or a printed page."""
    return bars(bars_of(answer), answer.title)


def _row(rank: int, row: AnswerItem, drawn: Sequence[Bar], change: str | None) -> ItemRow:
    mark, meaning = MARKS[row.significant]
    return ItemRow(
        rank,
        row.item,
        row_bar(drawn[rank - 1], drawn),
        mark,
        meaning,
        f"{whole(row.count)} ± {whole(row.stderr)}",
        percent(row.frequency),
        "" if row.source is None else SOURCES[row.source],
        "" if row.true_count is None else whole(row.true_count),
        *CHANGES.get(change or "", ("", "")),
    )


def _week(answer: Answer) -> str:
    place = answer.campaign
    if place is None:
        return ""
    said = f"Cycle {place.cycle}, week {place.week} of a campaign."
    reasons = [f"{vars(place.refusals)[code]:,} {why}" for code, why in REFUSALS.items() if vars(place.refusals)[code]]
    if reasons:
        said += f" Devices that said why they do not answer: {', '.join(reasons)}."
    if place.compared_with is None:
        return f"{said} There is no earlier answer to compare it with."
    gone = [each.item for each in place.changes if each.mark == "gone"]
    return f"{said} Compared with week {place.compared_with}." + (f" Gone: {', '.join(gone)}." if gone else "")


def _strip(answer: Answer) -> Picture:
    """Draw the parties whose users were counted, as shares of all known users."""
    covered = 1.0 if answer.covered.share is None else min(answer.covered.share, 1.0)
    largest = sorted(answer.parties, key=lambda party: -party.share)
    parts = [(party.name, party.share * covered) for party in largest[:MAX_PARTIES]]
    if others := largest[MAX_PARTIES:]:
        parts.append((f"{len(others)} others", sum(party.share for party in others) * covered))
    return shares(parts, "Users counted", 1 - covered)


def coverage(answer: Answer) -> str:
    """Return in one sentence how many users the answer covers."""
    covered = answer.covered
    counted = f"{covered.users:,} users were counted"
    if covered.share is None:
        return f"{counted}; how many there are is not known: nobody said how many the missing parties have."
    return f"{counted}: {percent(covered.share)} of the {covered.known:,} users {covered.of}."


def homes_of(answer: Answer) -> tuple[Picture, ...]:
    """Draw the shares of each item by party, on one scale, where the parties' own counts are known."""
    users = {party.name: party.users for party in answer.parties}
    largest = sorted(users, key=lambda name: -users[name])[:MAX_PARTIES]
    panels = []
    for row in answer.items[:MAX_HOMES]:
        found = {each.party: each for each in row.by_party if users.get(each.party)}
        living = [
            Home(name, found[name].count / users[name], found[name].stderr / users[name])
            for name in largest
            if name in found
        ]
        if living:
            panels.append((row.item, living))
    highest = max((home.share + home.stderr for _, living in panels for home in living), default=0.0)
    return tuple(homes(item, living, highest) for item, living in panels)


def promises(answer: Answer) -> tuple[Promise, ...]:
    """Return a sentence to each audience on what this answer gives away."""
    epsilon = Epsilon(answer.privacy.epsilon)
    once = answer.privacy.reports_per_user == 1
    what = "item" if answer.items_per_user is None else "whole set of items"
    times = "one randomised report, once" if once else f"{answer.privacy.reports_per_user} randomised reports"
    if once and answer.campaign is not None:
        times = "one randomised report in one week of the cycle, and none in the others"
    worst = weakest_central(answer)
    central = f"{epsilon:g}-LDP holds, whatever the parties do"
    if worst is not None and worst.epsilon < epsilon:
        central = f"{worst} holds if the parties are honest, and {epsilon:g}-LDP whatever they do"
    return (
        Promise("To everybody who was asked", f"Your device sent {times}. {guesses_sentence(epsilon, what)}"),
        Promise(
            "To a party",
            f"You see randomised reports only: each is at most e^{epsilon:g} = {epsilon.written_odds} times likelier "
            f"for one {what} than for another ({epsilon:g}-LDP), and nothing you do with them gives more away.",
        ),
        Promise("To whoever runs the server", f"You see counts of parties, never a report: towards you {central}."),
        Promise(
            "To readers",
            f"The items, counts and errors here come from the parties' counts alone: {central}, and whatever is "
            "computed from this answer gives nothing more away.",
        ),
    )


def weakest_central(answer: Answer) -> CentralGuarantee | None:
    """Return the central guarantee that holds for users of every party; None: one of them has none."""
    # The largest epsilon of all parties: a sentence to every user must hold in the smallest party.
    found = [party.central for party in answer.parties]
    known = [central for central in found if central is not None]
    return max(known, key=lambda central: central.epsilon) if known and len(known) == len(found) else None


def flow_of(answer: Answer) -> Picture:
    """Draw who sends what to whom."""
    epsilon = Epsilon(answer.privacy.epsilon)
    worst = weakest_central(answer)
    what = "item" if answer.items_per_user is None else "set"
    held = "one item" if answer.items_per_user is None else f"a set of items, {answer.items_per_user} of them asked for"
    central = f"{epsilon:g}-LDP" if worst is None else f"{worst} if the party is honest, {epsilon:g}-LDP in any case"
    parties = "1 party" if len(answer.parties) == 1 else f"{len(answer.parties)} parties"
    return data_flow(
        (
            Station(
                f"Devices of {answer.users:,} users",
                f"each holds {held}",
                "one randomised report",
                f"ε = {answer.privacy.epsilon}: one {what} at most {epsilon.written_odds} times likelier than another",
            ),
            Station(
                parties,
                "randomised reports, unlinked from tickets when a group closes",
                "counts, never a report",
                central,
            ),
            Station("Server", "parties' counts", f"{len(answer.items)} items with errors", "nothing more is given"),
            Station("Readers", "this answer"),
        )
    )


def _facts(answer: Answer) -> tuple[tuple[str, str], ...]:
    facts = [("Asked", answer.title), ("Parties", f"{len(answer.parties)} with {answer.users:,} users")]
    if answer.parties:
        bits = [party.uplink_bits for party in answer.parties]
        sent = f"{min(bits):,} bits" if min(bits) == max(bits) else f"{min(bits):,} to {max(bits):,} bits"
        facts.append(("Each party sent", sent))
    if answer.outside is not None:
        share = f"{percent(answer.outside.share)} ± {percent(answer.outside.stderr)}"
        facts.append(("Not in the catalogue", f"{share} of users hold something else"))
    if answer.fakes_needed is not None:
        facts.append(("Fakes needed", f"about {answer.fakes_needed:,} fake users could push in an item nobody holds"))
    if answer.truth is not None:
        facts.append(("Against the truth", f"F1 {answer.truth.f1:.2f}, NCR {answer.truth.ncr:.2f}"))
    if answer.items_per_user is not None:
        facts.append(("Sets", f"a report speaks of up to {answer.items_per_user} items; a count is {answer.reading}"))
    if answer.mode == SIMULATION:
        facts.append(("Simulated", "no device was asked: users are drawn from the data that were given"))
    return tuple(facts)


def _warnings(answer: Answer) -> tuple[str, ...]:
    missing = [
        f"{each.name} is missing: {each.reason}"
        + ("" if each.expected is None else f" ({each.expected:,} users expected)")
        for each in answer.missing
    ]
    odd = [
        f"{party.implausible:,} reports of {party.name} are of a kind that no honest device sends"
        for party in answer.parties
        if party.implausible
    ]
    nothing = [] if answer.items else ["Nothing rose above the noise: there are too few users for this epsilon."]
    return (*missing, *odd, *nothing)
