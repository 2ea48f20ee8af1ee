"""Options that several commands share, spelt and explained once."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from treetop.datasets.item_lists import NO_ORDER, ORDERS
from treetop.encoding.item_codecs import CODECS
from treetop.encoding.normalisation import STEPS
from treetop.errors import InvalidInput
from treetop.mechanisms.defaults import DEFAULT_BUDGET
from treetop.mechanisms.registry import MECHANISMS, SETTINGS
from treetop.mechanisms.strategy import STRATEGIES
from treetop.oracles.registry import oracle_names
from treetop.oracles.set_reports import DEFAULT_ITEMS, HOLDERS, MAX_ITEMS, READINGS
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


ItemsPerUser = Annotated[
    str | None,
    typer.Option(
        "--items-per-user",
        metavar="M",
        help=f"Users with many items: how many of hers a user's one report speaks of, at most. From 1 to {MAX_ITEMS}, "
        f"or {AUTO_ITEMS}: some users report only how many they hold.",
        show_default=str(DEFAULT_ITEMS),
    ),
]
ItemsAtMost = Annotated[
    int | None,
    typer.Option(
        "--items-per-user",
        metavar="M",
        min=1,
        max=MAX_ITEMS,
        help="Devices hold sets: how many items a device's one report speaks of, at most.",
        show_default=f"{DEFAULT_ITEMS} where sets are asked about",
    ),
]
Reading = Annotated[
    str | None,
    typer.Option(
        "--reading",
        help=f"Users with many items: what a count is, {', '.join(READINGS)}.",
        show_default=HOLDERS,
        autocompletion=completing(READINGS),
    ),
]
K = Annotated[int, typer.Option("--k", help="How many items to look for.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", help="Privacy budget of every user's one report.")]
MaybeEpsilon = Annotated[
    float | None,
    typer.Option("--epsilon", help="Privacy budget of every user's one report.", show_default=DEFAULT_BUDGET),
]
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
Oracle = Annotated[
    str,
    typer.Option(
        "--oracle",
        help=f"Frequency oracle: {', '.join(oracle_names())}.",
        autocompletion=completing(oracle_names()),
    ),
]
MaybeMechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        help=f"Mechanism: {', '.join(MECHANISMS)}.",
        show_default="panorama, or canopy where a trie is searched",
        autocompletion=completing(list(MECHANISMS)),
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help=f"How items become bits: {', '.join(CODECS)}.",
        show_default="what suits the data",
        autocompletion=completing(list(CODECS)),
    ),
]
CatalogueFile = Annotated[
    Path | None,
    typer.Option(
        "--catalogue",
        metavar="FILE",
        help="The items are known: one per line (.txt), or the column item of a table. Nothing else is "
        "counted but how many users hold none of them.",
        show_default=False,
    ),
]
WordList = Annotated[
    str | None,
    typer.Option(
        "--word-list",
        metavar="FILE",
        help="Names are hashed, and read back from this list: one per line (.txt), or the column word or item of a "
        "table, ranked by its column frequency, users or count; or wordfreq:en (wordfreq:en:50000), a public "
        "list.",
        show_default=False,
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
Normalise = Annotated[
    str | None,
    typer.Option(
        "--normalise",
        metavar="STEPS",
        help=f"Steps that items and lists are put through first, separated by commas: {', '.join(STEPS)}.",
        show_default="items as they are",
        autocompletion=completing(STEPS),
    ),
]
TextRecovery = Annotated[
    bool | None,
    typer.Option(
        "--text-recovery/--no-text-recovery",
        help="Names are hashed, and some users report a part of their text, so that unlisted names can be read.",
        show_default="on where names are hashed",
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        help=f"How items are found: {', '.join(STRATEGIES)}. The last two are Panorama, told what to count.",
        show_default="what suits the files and options",
        autocompletion=completing(STRATEGIES),
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Same seed, same answer.", show_default="drawn and printed")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help=f"A parameter or reading of the paper, again for each: {', '.join(SETTINGS)}.",
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
