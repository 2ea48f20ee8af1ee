"""What a query could find, and what it would cost, before any data are collected: `treetop.plan`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from math import ceil, isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from treetop.answers.result_files import checked_output, html_table, html_text, write_result
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.federation.device.ledger import Caps
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.panorama.parameters import MAX_CODE_BITS
from treetop.mechanisms.summed_level import SummedParameters
from treetop.metrics.answer_quality import fake_weight
from treetop.metrics.detection_power import POWER, count_error, least_frequency, min_factor
from treetop.oracles.registry import AUTO, set_oracle
from treetop.planning.modes import Lists, Mode, modes_of
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import (
    asked_guarantee,
    central_guarantee,
    local_epsilon,
    refuse_large_delta,
    usual_delta,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_CATALOGUE = 10_000
DEFAULT_WORD_LIST = 50_000
LARGEST_EPSILON = float(Caps.per_task)
"""The most that devices accept for one task unless their owner changed it."""
LARGEST_FACTOR = 1e9
"""Where the search for more users of every party ends."""
MAX_USERS = 10**12
"""Of a party."""
MAX_ITEMS = (1 << MAX_CODE_BITS) - 1
"""Of a catalogue or word list: the most indices that can be counted at the same time."""
PLOT_ENDINGS = (".png", ".svg")
PLOTTED_EPSILONS = {0.5: ("#D55E00", ":"), 1.0: ("#E69F00", "-."), 2.0: ("#0072B2", "-"), 4.0: ("#009E73", "--")}
"""Okabe and Ito's colours, which colour-blind readers can tell apart, each with another style of line."""
PLOTTED_MODES = {0: "Catalogue", 1: "Word list", 3: "Texts", 4: "Canopy"}
"""Titles of panels by the index of a mode."""
PLOTTED_USERS = (1e3, 1e8)
PLOTTED_POINTS = 26

MEANINGS = (
    "found: an item that this share of users hold, in every party, is among the k found in 9 of 10 runs, even as the "
    "k-th most popular, if all after it are rare. marked: it is also marked as more than noise. ± users: standard "
    "error of a count just found. kbit up: what a party sends to the server, at most about so many thousand bits."
)


def written_share(frequency: float | None) -> str:
    """Write the smallest share of users that is found; None is never, 0 is always."""
    return "never" if frequency is None else "always" if frequency == 0 else f"{frequency:.3%}"


@dataclass(frozen=True)
class PlanRow:
    """One mode: what it could find with 90 % power, and what it would cost."""

    mode: str
    what: str
    """In words."""
    found: float | None
    """The smallest frequency that is among the k found, even as the k-th; None where none is, 0 where any is."""
    marked: float | None
    """The smallest frequency that is also marked as more than noise."""
    stderr: float | None
    """Standard error of the count of an item that is just found, in users."""
    uplink_bits: int
    """Expected, per party."""
    report_bits: int
    """Of the one report of a user."""
    central_epsilon: float
    """Of the smallest party, against everybody but itself, if it is honest."""
    epsilon_needed: float | None = None
    """For the target frequency; None without one, or where devices would refuse any that suffices; 0: any does."""
    users_needed: int | None = None
    """In all, at the given epsilon, for the target frequency."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The modes side by side."""

    users: tuple[int, ...]
    parameters: SummedParameters
    lists: Lists
    frequency: float | None
    delta: float
    """Of the central guarantees."""
    rows: tuple[PlanRow, ...]

    @property
    def fake_weight(self) -> float:
        """Return the number of holders of an item that one crafted report outweighs, where every code is counted."""
        oracle = set_oracle(AUTO, self.parameters.epsilon, self.parameters.items_per_user)
        return fake_weight(oracle.p, oracle.q)

    @property
    def all_users(self) -> int:
        """Return the users of all parties together; each gives one report."""
        return sum(self.users)

    @property
    def title(self) -> str:
        """Return the plan's question in one line."""
        parties = "1 party" if len(self.users) == 1 else f"{len(self.users)} parties"
        p = self.parameters
        users = "1 user" if self.all_users == 1 else f"{self.all_users:,} users"
        return f"{users} in {parties}, ε = {p.epsilon:g}, k = {p.k}"

    def _repr_html_(self) -> str:
        """Return the plan as notebooks show it."""
        names = ["mode", "an item is named by", "found", "marked", "± users", "kbit up"]
        rows = [
            [
                html_text(row.mode),
                html_text(row.what),
                written_share(row.found),
                written_share(row.marked),
                "-" if row.stderr is None else f"{row.stderr:,.0f}",
                f"{row.uplink_bits / 1000:,.0f}",
            ]
            for row in self.rows
        ]
        return html_table(self.title, names, rows, 2, [MEANINGS])

    @property
    def table(self) -> pa.Table:
        """Return the modes as a pyarrow table, as `--output` writes them."""
        return pa.Table.from_pylist([asdict(row) for row in self.rows])

    def write(self, path: str | Path) -> None:
        """Write the plan to .json or .html, or its modes to .csv or .parquet, whole or not at all."""
        write_result(path, self.table, self.to_json(), self._repr_html_())

    def __repr__(self) -> str:
        found = ", ".join(f"{row.mode} {written_share(row.found)}" for row in self.rows)
        p = self.parameters
        return f"Plan({self.all_users:,} users, k = {p.k}, ε = {p.epsilon:g}; found from {found})"

    def to_json(self) -> dict[str, Any]:
        """Return the object that `treetop plan --json` prints."""
        return {
            "users": list(self.users),
            "reports": self.all_users,
            "k": self.parameters.k,
            "epsilon": float(self.parameters.epsilon),
            "items_per_user": self.parameters.items_per_user,
            "fake_weight": self.fake_weight,
            "catalogue_size": self.lists.catalogue,
            "word_list_size": self.lists.words,
            "delta": self.delta,
            "power": POWER,
            "frequency": self.frequency,
            "modes": [asdict(row) for row in self.rows],
        }


def plan(
    users: Sequence[int],
    *,
    k: int = DEFAULT_K,
    epsilon: float | None = None,
    catalogue_size: int = DEFAULT_CATALOGUE,
    word_list_size: int = DEFAULT_WORD_LIST,
    frequency: float | None = None,
    items_per_user: int = 1,
    trust: str | None = None,
    central_epsilon: float | None = None,
    delta: float | None = None,
) -> Plan:
    """Return what every mode could find among the users of each party, and what it would cost.

    With `items_per_user` users hold sets, and a report covers at most that number of items; a frequency is then the
    share of users whose reports cover an item: its holders, each weighing min(1, items_per_user / number of her items).
    Epsilon is 2 by default; with `trust="party"` it is the one that gives users of the smallest party a
    `central_epsilon` against everybody else in Panorama, where reports hide among all of their party's.

    >>> import treetop
    >>> treetop.plan([200_000, 100_000], k=10, epsilon=2).rows[0].mode
    'catalogue'
    """
    if not len(users) or not all(_is_whole(n) and 1 <= n <= MAX_USERS for n in users):
        raise InvalidInput("plan_users", max_users=MAX_USERS, users=", ".join(map(str, users)))
    sizes = tuple(int(n) for n in users)
    central = asked_guarantee(trust, central_epsilon, delta, epsilon)
    given = Epsilon(DEFAULT_EPSILON if epsilon is None else epsilon)
    parameters = SummedParameters(k, given, items_per_user=items_per_user)
    for what, size in (("catalogue", catalogue_size), ("word list", word_list_size)):
        if not _is_whole(size) or not k <= size <= MAX_ITEMS:
            raise InvalidInput("plan_list_size", what=what, k=k, max_items=MAX_ITEMS, size=size)
    if frequency is not None and not (isinstance(frequency, Real) and 0 < frequency < 1):
        raise InvalidInput("plan_frequency", frequency=frequency)
    lists = Lists(int(catalogue_size), int(word_list_size))
    if central is not None:
        refuse_large_delta(central.delta, sum(sizes))
        delta = central.delta
        # The smallest party hides a report among the fewest others, so its users need the smallest local epsilon.
        local = local_epsilon(
            lambda given: central_guarantee([min(sizes)], given, delta).epsilon, central, Caps().per_task
        )
        parameters = replace(parameters, epsilon=local)
    shown = usual_delta(sum(sizes)) if central is None else central.delta
    modes = modes_of(parameters, lists)
    rows = tuple(_row(mode, sizes, mode.central(min(sizes), parameters.epsilon, shown)) for mode in modes)
    if frequency is not None:
        rows = tuple(
            replace(
                row,
                epsilon_needed=_epsilon_for(index, sizes, parameters, lists, frequency),
                users_needed=_users_for(modes[index], sizes, frequency),
            )
            for index, row in enumerate(rows)
        )
    return Plan(sizes, parameters, lists, frequency, shown, rows)


def _is_whole(number: object) -> bool:
    """Accept 5e4 and numpy's integers as whole numbers, but not True."""
    if isinstance(number, float):
        return number.is_integer()
    return isinstance(number, Integral) and not isinstance(number, bool)


def detectable(mode: Mode, users: Sequence[float]) -> float:
    """Return the smallest frequency that a mode finds with 90 % power."""
    return least_frequency(lambda frequency: mode.found(users, frequency))


def _row(mode: Mode, users: tuple[int, ...], central: float) -> PlanRow:
    found = detectable(mode, users)
    error = count_error(mode.stages[-1], users, found).present if isfinite(found) else None
    return PlanRow(
        mode=mode.name,
        what=mode.what,
        found=_finite(found),
        marked=_finite(least_frequency(lambda frequency: mode.marked(users, frequency))),
        stderr=error,
        uplink_bits=mode.uplink_bits,
        report_bits=mode.stages[-1].oracle.report_bits,
        central_epsilon=central,
    )


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _epsilon_for(
    index: int, users: tuple[int, ...], parameters: SummedParameters, lists: Lists, target: float
) -> float | None:
    def is_enough(epsilon: float) -> bool:
        mode = modes_of(replace(parameters, epsilon=Epsilon(epsilon)), lists)[index]
        return mode.found(users, target) >= POWER

    return _finite(min_factor(is_enough, LARGEST_EPSILON))


def _users_for(mode: Mode, users: tuple[int, ...], target: float) -> int | None:
    """Return the users that all parties need together, all scaled by one factor, with at least one user each."""
    factor = min_factor(lambda factor: mode.found([n * factor for n in users], target) >= POWER, LARGEST_FACTOR)
    return max(ceil(factor * sum(users)), len(users)) if isfinite(factor) else None


def checked_plot(path: Path) -> Path:
    """Refuse, before anything is computed, a plot that could not be drawn or written."""
    target = checked_output(path, PLOT_ENDINGS)
    with needed_for("a plot", "plot"):
        import_module("matplotlib")
    return target


def draw_plan(planned: Plan) -> "Figure":
    """Draw one panel for each mode and one line for each epsilon, with a mark for the plan itself."""
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    shares = np.array(planned.users) / planned.all_users
    numbers = np.geomspace(*PLOTTED_USERS, PLOTTED_POINTS)
    for axes, (index, title) in zip(panels.flat, PLOTTED_MODES.items(), strict=True):
        row = planned.rows[index]
        for epsilon, (colour, line) in PLOTTED_EPSILONS.items():
            mode = modes_of(replace(planned.parameters, epsilon=Epsilon(epsilon)), planned.lists)[index]
            found = [detectable(mode, (shares * number).tolist()) for number in numbers]
            axes.loglog(numbers, found, color=colour, linestyle=line, linewidth=1.8, label=f"ε = {epsilon:g}")
        if row.found is not None:
            label = f"this plan, ε = {planned.parameters.epsilon:g}"
            axes.scatter([planned.all_users], [row.found], color="black", marker="D", s=36, zorder=3, label=label)
        axes.set_title(f"{title}: {row.what}", loc="left", fontsize=10)
        axes.set_ylim(3e-5, 1)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
        axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[1]:
        axes.set_xlabel("users of all parties together")
    for axes in panels[:, 0]:
        axes.set_ylabel("smallest share of users found")
    panels[0, 0].legend(frameon=False, fontsize=9, loc="lower left")
    parties = "1 party" if len(planned.users) == 1 else f"{len(planned.users)} parties"
    figure.suptitle(f"What is found in 9 of 10 runs ({parties}, k = {planned.parameters.k})", fontsize=12)
    return figure
