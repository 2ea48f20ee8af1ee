"""`treetop up`: a whole federation on this machine."""

from pathlib import Path
from typing import Annotated, Any, Self

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from treetop.cli.federation.known_lists import read_lists
from treetop.cli.options import (
    CatalogueFile,
    CentralEpsilon,
    Delta,
    ItemsAtMost,
    Json,
    MaybeMechanism,
    Normalise,
    Reading,
    RowsAreUsers,
    Set,
    Strategy,
    TextRecovery,
    Trust,
    UserColumn,
    WordList,
    WordListOrder,
    completing,
    read_settings,
)
from treetop.cli.rendering import present
from treetop.cli.screen import Description, err, note
from treetop.encoding.item_codecs import CODECS
from treetop.encoding.normalisation import steps_named
from treetop.mechanisms.protocol import MODES
from treetop.oracles.registry import AUTO, oracle_names
from treetop.privacy.shuffling import asked_guarantee
from treetop.query.answer import Answer
from treetop.query.local_federation import GroundTruth, opened_folder
from treetop.services.local.folder import FederationFolder
from treetop.services.local.processes import Processes
from treetop.services.local.run import LocalFederation, Standing

Parties = Annotated[
    int | None, typer.Option("--parties", min=1, help="How many of the data's parties.", show_default="3; all of FILE")
]
Users = Annotated[
    int | None,
    typer.Option(
        "--users",
        min=1,
        help="Devices in all parties together; all users where the data have fewer.",
        show_default="50000",
    ),
]
MaybeK = Annotated[int | None, typer.Option("--k", help="How many items to look for.", show_default="10")]
MaybeEpsilon = Annotated[
    str | None, typer.Option("--epsilon", help="Privacy budget of every user's one report.", show_default="4")
]
Mode = Annotated[
    str | None, typer.Option("--mode", help=f"How devices are asked: {', '.join(MODES)}.", show_default="one-shot")
]
MaybeOracle = Annotated[
    str | None,
    typer.Option(
        "--oracle",
        help="Frequency oracle: one that hashes (olh, walsh) in one-shot mode, one for lists (krr, oue) in rounds.",
        show_default=AUTO,
        autocompletion=completing(oracle_names()),
    ),
]
Data = Annotated[
    str | None, typer.Option("--data", metavar="FILE|syn", help="Who holds what, as in find.", show_default="syn")
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help=f"How items become bits: {', '.join(CODECS)}.", show_default="what suits the data"),
]
UsersSeed = Annotated[
    int | None,
    typer.Option("--seed", help="Which users take part; what devices say is never seeded.", show_default="drawn"),
]
Directory = Annotated[
    Path | None,
    typer.Option("--directory", metavar="DIR", help="Kept; a second `up` on it continues.", show_default="a new one"),
]


def up(
    parties: Parties = None,
    users: Users = None,
    k: MaybeK = None,
    epsilon: MaybeEpsilon = None,
    mode: Mode = None,
    mechanism: MaybeMechanism = None,
    oracle: MaybeOracle = None,
    settings: Set = None,
    data: Data = None,
    user_column: UserColumn = None,
    rows_are_users: RowsAreUsers = False,
    items_per_user: ItemsAtMost = None,
    reading: Reading = None,
    encoding: EncodingOption = None,
    strategy: Strategy = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    word_list_order: WordListOrder = None,
    text_recovery: TextRecovery = None,
    normalise: Normalise = None,
    trust: Trust = None,
    central_epsilon: CentralEpsilon = None,
    delta: Delta = None,
    directory: Directory = None,
    seed: UsersSeed = None,
    json: Json = False,
) -> None:
    """Run a federation on this machine: a server, parties, devices that report over HTTP, a query, its answer."""
    central = asked_guarantee(trust, central_epsilon, delta, epsilon)
    wanted: dict[str, Any] = {
        "data": data, "parties": parties, "users": users, "k": k, "epsilon": epsilon, "mode": mode,
        "mechanism": mechanism, "oracle": oracle, "encoding": encoding, "seed": seed,
        "settings": read_settings(settings) or None, "strategy": strategy, "text_recovery": text_recovery,
        "normalise": ",".join(steps_named(normalise)) if normalise else None, "central": central and vars(central),
        "user_column": user_column, "rows_are_users": rows_are_users or None, "items_per_user": items_per_user,
        "reading": reading,
    }  # fmt: skip
    folder = opened_folder(directory, wanted, read_lists(catalogue, word_list, word_list_order, normalise))
    users = sum(home.users for home in folder.parties.values())
    note(f"{users:,} users drawn with seed {folder.options.seed}; everything is in {folder.path}")
    note(f"`treetop up --directory {folder.path}` goes on from there")
    truth = GroundTruth(folder)
    present(truth.scored(Answer.from_json(answered(folder))), json)


def answered(folder: FederationFolder) -> dict[str, Any]:
    """Start every process, let the devices report, and return the answer; show on the way how far it is."""
    with Processes(lambda name: note(f"{name} died and was started again")) as processes, Bars() as bars:
        federation = LocalFederation(folder, processes)
        bars.say("starting a server and parties")
        federation.start()
        federation.ask()
        federation.play()
        return federation.follow(bars.show)


class Bars:
    """A bar for every party's devices, and a line for the query."""

    def __init__(self) -> None:
        columns = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, TimeRemainingColumn(), console=err, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._query = self._progress.add_task("", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show what is being done."""
        self._progress.update(self._query, description=text)

    def show(self, standing: Standing) -> None:
        """Move the bars."""
        for party, (done, users) in standing.reported.items():
            if party not in self._tasks:
                self._tasks[party] = self._progress.add_task(f"devices of {party}", total=users)
            self._progress.update(self._tasks[party], completed=done)
        self._progress.update(self._query, completed=standing.query["steps"])
        self.say(f"query: {standing.query['doing']}")
