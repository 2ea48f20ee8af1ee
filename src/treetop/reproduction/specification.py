"""What one table or figure of the paper consists of, what the paper prints there and what it claims.

All of it is read from a TOML file, strictly.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product

from treetop.errors import InvalidInput, UnknownName
from treetop.evaluation.grid import Cell
from treetop.mechanisms.registry import mechanism_named, parameters_for
from treetop.toml_files import parse_toml

ENDING = ".toml"
KINDS = ("figure", "table", "federations")
RULES = ("greater", "gain_grows", "best_differs")
METRICS = ("f1", "ncr", "local_recall", "uplink_bits", "seconds")
FEDERATIONS = ("RDB", "YCM", "TYS", "UBA", "SYN")


@dataclass(frozen=True)
class Point:
    """Everything that a number depends on but the series."""

    federation: str
    case: str
    epsilon: float
    k: int


@dataclass(frozen=True)
class Variant:
    """A federation of the paper, perhaps with a part of its users or another Dirichlet draw."""

    federation: str
    share: float = 1.0
    draw: int = 0
    concentration: float = 0.5


@dataclass(frozen=True)
class Series:
    """One line of a figure or one column of a table."""

    label: str
    mechanism: str
    settings: dict[str, object] = field(default_factory=dict)
    oracle: str = ""
    """If it is not that of the case."""


@dataclass(frozen=True)
class Case:
    """What varies besides federation, epsilon and k: rows of a table, or panels of a figure."""

    label: str = ""
    settings: dict[str, object] = field(default_factory=dict)
    oracle: str = "krr"
    share: float = 1.0
    draw: int = 0
    concentration: float = 0.5

    def variant(self, federation: str) -> Variant:
        """Return the data that this case looks at."""
        return Variant(federation, self.share, self.draw, self.concentration)


@dataclass(frozen=True)
class Planned:
    """One cell to be run: which data, which mechanism, which parameters."""

    variant: Variant
    cell: Cell


@dataclass(frozen=True)
class PaperRow:
    """Printed values of one row of a table, by series; or values that a sentence quotes from a figure."""

    metric: str
    line: int
    values: dict[str, float | str]
    """A number, or text where the paper prints no number, such as `> 72 h`."""
    federation: str = ""
    case: str = ""
    epsilon: float | None = None
    k: int | None = None
    remark: str = ""
    """For example a known erratum of the paper."""

    def is_at(self, metric: str, point: Point) -> bool:
        """Return whether the row covers that point; a field that it leaves open fits every point."""
        return (
            self.metric == metric
            and self.federation in ("", point.federation)
            and self.case == point.case
            and self.epsilon in (None, point.epsilon)
            and self.k in (None, point.k)
        )


def printed(rows: Iterable[PaperRow], metric: str, point: Point) -> PaperRow:
    """Return what the paper prints at a point: an empty row where it prints nothing."""
    for row in rows:
        if row.is_at(metric, point):
            return row
    return PaperRow(metric, 0, {})


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper.

    greater: at every point the series `greater` exceeds the best of `than`, by the share `margin` at least.
    gain_grows: `greater` minus `than` is larger in the case `case` than in the case `over`.
    best_differs: no one of the series `than` is among the best in all federations.
    """

    text: str
    line: int
    metric: str
    than: tuple[str, ...]
    greater: str = ""
    rule: str = "greater"
    than_metric: str = ""
    """Compare with another metric of the series in `than`."""
    margin: float = 0.0
    federations: tuple[str, ...] = ()
    epsilons: tuple[float, ...] = ()
    ks: tuple[int, ...] = ()
    case: str = ""
    over: str = ""
    remark: str = ""
    unchecked: str = field(default="")
    """Why no run of ours can decide it."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UnknownName("rule of a claim", self.rule, RULES)


@dataclass(frozen=True)
class Specification:
    """One table or figure."""

    name: str
    title: str
    kind: str
    source: str
    """Label in the paper's source, and the line it stands in."""
    metrics: tuple[str, ...] = ()
    federations: tuple[str, ...] = FEDERATIONS
    epsilons: tuple[float, ...] = (4.0,)
    ks: tuple[int, ...] = (10,)
    series: tuple[Series, ...] = ()
    cases: tuple[Case, ...] = (Case(),)
    panel_rows: str = "federation"
    panel_columns: str = "k"
    case_heading: str = "case"
    """Heading of the column of cases."""
    series_heading: str = "mechanism"
    federations_across: bool = False
    """Whether a table has a row for each series and a column for each federation."""
    computed: tuple[str, ...] = ()
    """Oracles whose uplink without a trie is computed for comparison, not run."""
    note: str = ""
    paper: tuple[PaperRow, ...] = ()
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName(f"{self.name}: kind", self.kind, KINDS)
        for name in self.federations:
            if name not in FEDERATIONS:
                raise UnknownName(f"{self.name}: federation", name, FEDERATIONS)
        for metric in self.metrics:
            if metric not in METRICS:
                raise UnknownName(f"{self.name}: metric", metric, METRICS)
        _refuse_twice(self.name, [series.label for series in self.series])
        _refuse_twice(self.name, [case.label for case in self.cases])

    def points(self) -> Iterator[Point]:
        """Yield all points, in reading order."""
        for federation, case, k, epsilon in product(self.federations, self.cases, self.ks, self.epsilons):
            yield Point(federation, case.label, epsilon, k)

    def cell_at(self, point: Point, series: Series) -> Planned:
        """Return what is run for a series at a point."""
        case = self.case_named(point.case)
        mechanism = mechanism_named(series.mechanism)
        settings = {**case.settings, **series.settings}
        parameters = parameters_for(mechanism, point.k, point.epsilon, series.oracle or case.oracle, settings)
        return Planned(case.variant(point.federation), Cell(mechanism, parameters))

    def planned(self) -> Iterator[Planned]:
        """Yield all cells that this table or figure needs."""
        for point, series in product(self.points(), self.series):
            yield self.cell_at(point, series)

    def case_named(self, label: str) -> Case:
        """Return the case of that label."""
        return next(case for case in self.cases if case.label == label)

    def series_named(self, label: str) -> Series:
        """Return the series of that label."""
        return next(series for series in self.series if series.label == label)


def _refuse_twice(name: str, labels: list[str]) -> None:
    if len(set(labels)) < len(labels):
        raise InvalidInput("labels_repeated", name=name, labels=", ".join(labels))


def specification_names() -> tuple[str, ...]:
    """Return the names of all tables and figures, in the paper's order, without reading them."""
    return tuple(path.name.removesuffix(ENDING).partition("_")[2] for path in _paths())


def all_specifications() -> dict[str, Specification]:
    """Read the specifications that come with the package, in the paper's order."""
    read = [parse_toml(path.read_text(encoding="utf-8"), Specification, path.name) for path in _paths()]
    return {specification.name: specification for specification in read}


def _paths() -> list[Traversable]:
    """Return the files, which a number in front of each keeps in order."""
    folder = files("treetop.reproduction") / "specifications"
    return sorted((path for path in folder.iterdir() if path.name.endswith(ENDING)), key=lambda path: path.name)


def specifications_named(names: Sequence[str]) -> tuple[Specification, ...]:
    """Return the specifications asked for, each once and in the paper's order; all of them for no names."""
    known = all_specifications()
    for name in names:
        if name not in known:
            raise UnknownName("table or figure", name, known)
    return tuple(known[name] for name in known if not names or name in names)


def distinct_cells(specifications: Sequence[Specification]) -> tuple[Planned, ...]:
    """Return every cell once, even if several tables and figures share it."""
    return tuple(dict.fromkeys(planned for each in specifications for planned in each.planned()))
