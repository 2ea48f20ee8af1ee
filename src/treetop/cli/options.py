"""Options that several commands share, spelt and explained once."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from treetop.datasets.item_lists import NO_ORDER, ORDERS
from treetop.errors import InvalidInput
from treetop.mechanisms.defaults import DEFAULT_BUDGET
from treetop.mechanisms.query import FIELDS
from treetop.mechanisms.registry import SETTINGS
from treetop.oracles.set_reports import DEFAULT_ITEMS
from treetop.privacy.shuffling import TRUSTED
from treetop.query.sets import AUTO_ITEMS
from treetop.simulation.run import SIMULATORS

Value = TypeVar("Value")

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def completing(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Offer names to the shell, also behind a comma."""

    def complete(incomplete: str) -> list[str]:
        head, comma, last = incomplete.rpartition(",")
        return [head + comma + name for name in names if name.startswith(last)]

    return complete


def of_query(
    name: str, *more: str, flag: str = "", metavar: str | None = None, unset: str = "", ranged: bool = False
) -> Any:
    """Return the option of a field of a query: its name, help and names to complete are those of `Query`."""
    about = FIELDS[name]
    shown = unset or about.unset
    limits: dict[str, Any] = {"min": about.least, "max": about.most} if ranged else {}
    return typer.Option(
        flag or f"--{name.replace('_', '-')}",
        metavar=metavar,
        help=" ".join((about.line, *more)),
        show_default=shown or about.default is not None,
        autocompletion=completing(about.names()) if about.names() else None,
        **limits,
    )


ItemsPerUser = Annotated[
    str | None,
    of_query("items_per_user", f"Or {AUTO_ITEMS}: some users report only how many they hold.", metavar="M"),
]
ItemsAtMost = Annotated[
    int | None,
    of_query("items_per_user", metavar="M", unset=f"{DEFAULT_ITEMS} where sets are asked about", ranged=True),
]
Reading = Annotated[str | None, of_query("reading")]
K = Annotated[int, of_query("k")]
EpsilonOption = Annotated[float, of_query("epsilon")]
MaybeEpsilon = Annotated[float | None, of_query("epsilon", unset=DEFAULT_BUDGET)]
Trust = Annotated[
    str | None,
    typer.Option(
        "--trust",
        metavar=TRUSTED,
        help="Take parties at their word: epsilon is computed from --central-epsilon, which holds if they are honest.",
        show_default="nobody",
        autocompletion=completing([TRUSTED]),
    ),
]
CentralEpsilon = Annotated[
    float | None,
    typer.Option(
        "--central-epsilon",
        help="With --trust party: what is promised towards everybody but a user's own party.",
        show_default=False,
    ),
]
Delta = Annotated[
    float | None, typer.Option("--delta", help="Of the central guarantee, at most 1 / users.", show_default="1e-8")
]
Oracle = Annotated[str, of_query("oracle")]
MaybeMechanism = Annotated[str | None, of_query("mechanism")]
Encoding = Annotated[str | None, of_query("encoding")]
CatalogueFile = Annotated[
    Path | None, of_query("catalogue", "One per line (.txt), or the column item of a table.", metavar="FILE")
]
WordList = Annotated[
    str | None,
    of_query(
        "word_list",
        "One per line (.txt), or the column word or item of a table, ranked by its column frequency, users or count; "
        "or wordfreq:en (wordfreq:en:50000), a public list.",
        metavar="FILE",
    ),
]
WordListOrder = Annotated[
    str | None,
    typer.Option(
        "--word-list-order",
        metavar="ORDER",
        help=f"What the order of a list without such a column says: {', '.join(ORDERS)}. Of words that share a hash, "
        "the more popular one is read; without an order, all are shown.",
        show_default=NO_ORDER,
        autocompletion=completing(ORDERS),
    ),
]
Normalise = Annotated[str | None, of_query("normalise", metavar="STEPS")]
TextRecovery = Annotated[bool | None, of_query("text_recovery", flag="--text-recovery/--no-text-recovery")]
Strategy = Annotated[str | None, of_query("strategy")]
Seed = Annotated[int | None, typer.Option("--seed", help="Same seed, same answer.", show_default="drawn and printed")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help=FIELDS["settings"].line,
        show_default=False,
        autocompletion=completing([f"{name}=" for name in SETTINGS]),
    ),
]
Workers = Annotated[
    int, typer.Option("--workers", help="Processes that share the repetitions; the numbers do not depend on it.")
]
DaskCluster = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster, tcp://HOST:PORT, whose workers run the repetitions instead of --workers; "
        "the numbers do not depend on it.",
        show_default=False,
    ),
]
Simulator = Annotated[
    str,
    typer.Option(
        "--simulator",
        help="exact: tallies drawn from their law; devices: every user perturbed, slower, the same law.",
        autocompletion=completing(list(SIMULATORS)),
    ),
]

SEARCH: dict[str, tuple[Any, Any]] = {
    "strategy": (Strategy, None),
    "catalogue": (CatalogueFile, None),
    "word_list": (WordList, None),
    "word_list_order": (WordListOrder, None),
    "text_recovery": (TextRecovery, None),
    "normalise": (Normalise, None),
    "trust": (Trust, None),
    "central_epsilon": (CentralEpsilon, None),
    "delta": (Delta, None),
    "items_per_user": (ItemsAtMost, None),
    "reading": (Reading, None),
    "settings": (Set, None),
}
"""How the items of a federation are looked for, whoever runs it: for `gathers`."""


def read_settings(pairs: Sequence[str] | None) -> dict[str, object]:
    """Return the settings of `--set name=value`, each named once."""
    settings: dict[str, object] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput("set_malformed", pair=pair)
        if name in settings:
            raise InvalidInput("set_twice", name=name)
        settings[name] = value
    return settings


def read_list(option: str, text: str, kind: Callable[[str], Value], what: str) -> tuple[Value, ...]:
    """Return the values of a comma-separated option."""
    try:
        return tuple(kind(part.strip()) for part in text.split(","))
    except ValueError:
        raise InvalidInput("list_malformed", option=option, what=what, text=text) from None


def seconds_of(option: str, text: str) -> int:
    """Return the seconds of a duration as people write it: 90s, 15m, 24h, 7d."""
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text.strip())
    if found is None:
        raise InvalidInput("duration_malformed", option=option, text=text)
    return int(found[1]) * SECONDS[found[2]]


Options = Mapping[str, tuple[Any, Any]]
"""For the name of each parameter, its annotation and its default."""


def gathers(
    parameter: str, options: Options, make: Callable[[dict[str, Any]], Any] = dict
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options in the place of one parameter, which is then what is made of them."""

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            gathered = {name: given.pop(name) for name in options}
            command(**given, **{parameter: make(gathered)})

        shown: list[inspect.Parameter] = []
        for name, own in inspect.signature(command, eval_str=True).parameters.items():
            if name != parameter:
                shown.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            shown += [
                inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
                for each, (annotation, default) in options.items()
            ]
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return called

    return with_options
