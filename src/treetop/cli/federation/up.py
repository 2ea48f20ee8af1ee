"""`treetop up`: a whole federation on this machine."""

import signal
import webbrowser
from contextlib import ExitStack
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from treetop.adapters.system.durable_file import replace_durably
from treetop.adapters.system.telemetry import StructuredLog
from treetop.answers.answer import Answer
from treetop.cli.federation.asking import LIST_OPTIONS, read_lists
from treetop.cli.file_options import reads_files
from treetop.cli.options import (
    SEARCH,
    Encoding,
    MaybeMechanism,
    completing,
    gathers,
    of_query,
    read_settings,
    seconds_of,
)
from treetop.cli.output import FORMATS, PLAIN_FORMATS, OutputFile, checked_target
from treetop.cli.rendering import present, present_campaign
from treetop.cli.screen import Description, Json, err, note, reading_bar
from treetop.datasets.table_files.options import ReadOptions
from treetop.encoding.normalisation import steps_named
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.defaults import DEFAULT_BUDGET, DEFAULT_K
from treetop.mechanisms.deployment import MODES
from treetop.oracles.registry import AUTO
from treetop.privacy.shuffling import asked_guarantee
from treetop.query.local_federation import GroundTruth, opened_folder, weekly_answers, weekly_federations
from treetop.services.local.campaign import LocalCampaign
from treetop.services.local.flower import FlowerCarrier
from treetop.services.local.folder import HOST, FederationFolder
from treetop.services.local.processes import Processes
from treetop.services.local.run import LocalFederation, Standing
from treetop.services.local.survey import SurveyPlan, network_address

if TYPE_CHECKING:
    from treetop.services.local.survey_site import SurveySite

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
MaybeK = Annotated[int | None, of_query("k", unset=str(DEFAULT_K))]
MaybeEpsilon = Annotated[str | None, of_query("epsilon", unset=DEFAULT_BUDGET)]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        help=f"How devices are asked: {', '.join(MODES)}.",
        show_default="one-shot",
        autocompletion=completing(MODES),
    ),
]
MaybeOracle = Annotated[
    str | None,
    of_query("oracle", "olh and walsh are for one-shot mode, krr and oue for rounds.", unset=AUTO),
]
Data = Annotated[
    str | None, typer.Option("--data", metavar="FILE|syn", help="Who holds what, as in find.", show_default="syn")
]
UsersSeed = Annotated[
    int | None,
    typer.Option("--seed", help="Which users take part; what devices say is never seeded.", show_default="drawn"),
]
Directory = Annotated[
    Path | None,
    typer.Option("--directory", metavar="DIR", help="Kept; a second `up` on it continues.", show_default="a new one"),
]


Survey = Annotated[
    bool, typer.Option("--survey", help="Serve a page on which people answer beside the simulated users.")
]
Question = Annotated[
    str | None, typer.Option("--question", help="Survey: what people are asked.", show_default="your favourite fruit")
]
Collect = Annotated[
    str | None,
    typer.Option("--collect", metavar="DURATION", help="Survey: how long people may answer.", show_default="10m"),
]
Phones = Annotated[
    bool, typer.Option("--phones/--no-phones", help="Survey: serve phones in the same network, too, over https.")
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", help="Survey: another site whose pages may report, again for each.", show_default=False),
]
Campaign = Annotated[
    bool, typer.Option("--campaign", help="Ask the same question every week; weeks are seconds long, and items drift.")
]
Weeks = Annotated[
    int | None, typer.Option("--weeks", min=2, max=100, help="Campaign: how many weeks.", show_default="6")
]
Drift = Annotated[
    float | None,
    typer.Option("--drift", min=0, help="Campaign: how many of the top k change in a week.", show_default="1.6"),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every", metavar="DURATION", help="Campaign: how long a week lasts.", show_default="what the users need"
    ),
]
DEFAULT_WEEKS = 6
CARRIERS = ("http", "flower")
OpenPage = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
Stay = Annotated[
    bool, typer.Option("--stay", help="Keep the federation and its page up after the answer, until Ctrl-C.")
]
Carrier = Annotated[
    str,
    typer.Option(
        "--carrier",
        help=f"Who carries messages between server and parties: {', '.join(CARRIERS)}.",
        autocompletion=completing(CARRIERS),
    ),
]
FlowerEnvironment = Annotated[
    Path,
    typer.Option(
        "--flower-environment", metavar="DIR", envvar="TREETOP_FLOWER", help="Where `make flower` installed the bridge."
    ),
]
DEFAULT_QUESTION = "Which fruit do you like best?"
FRUIT = str(files("treetop.services.local").joinpath("survey_page", "fruit.csv"))
FOR_PEOPLE = {"data": FRUIT, "k": 5, "users": 20_000, "mode": "one-shot"}
"""What a survey asks unless told otherwise."""


@reads_files
@gathers("search", SEARCH)
def up(
    *,
    parties: Parties = None,
    users: Users = None,
    k: MaybeK = None,
    epsilon: MaybeEpsilon = None,
    mode: Mode = None,
    mechanism: MaybeMechanism = None,
    oracle: MaybeOracle = None,
    data: Data = None,
    encoding: Encoding = None,
    search: dict[str, Any],
    directory: Directory = None,
    seed: UsersSeed = None,
    survey: Survey = False,
    question: Question = None,
    collect: Collect = None,
    phones: Phones = True,
    origin: Origins = None,
    campaign: Campaign = False,
    weeks: Weeks = None,
    drift: Drift = None,
    every: Every = None,
    carrier: Carrier = CARRIERS[0],
    flower_environment: FlowerEnvironment = Path(".venv-flower"),
    output: OutputFile = None,
    open_page: OpenPage = False,
    stay: Stay = False,
    json: Json = False,
    read: ReadOptions,
) -> None:
    """Run a federation on this machine: a server, parties, devices that report over HTTP, a query, its answer."""
    target = checked_target(output, PLAIN_FORMATS if campaign else FORMATS)
    central = asked_guarantee(search["trust"], search["central_epsilon"], search["delta"], epsilon)
    flower = _flower(carrier, flower_environment)
    if campaign and (open_page or stay):
        raise InvalidInput("stay_with_campaign")
    wanted: dict[str, Any] = {
        "data": data,
        "parties": parties,
        "users": users,
        "k": k,
        "epsilon": epsilon,
        "mode": mode,
        "mechanism": mechanism,
        "oracle": oracle,
        "encoding": encoding,
        "seed": seed,
        **{name: search[name] for name in ("strategy", "text_recovery", "items_per_user", "reading")},
        "settings": read_settings(search["settings"]) or None,
        "central": central and vars(central),
        "normalise": ",".join(steps_named(search["normalise"])) if search["normalise"] else None,
        "user_column": read.user,
        "rows_are_users": read.rows_are_users or None,
        **_campaign_options(campaign, weeks, drift, every, survey=survey, mode=mode),
    }
    begun = directory is not None and FederationFolder.is_one(directory)
    if survey and not begun:
        wanted = FOR_PEOPLE | {name: value for name, value in wanted.items() if value is not None}
        if wanted["data"] == FRUIT and search["word_list"] is None:
            search["catalogue"] = Path(FRUIT)
    plan = _survey_plan(survey, wanted["mode"], question, collect, origin)
    lists = read_lists(*(search[name] for name in LIST_OPTIONS))
    with reading_bar() as progress:
        folder = opened_folder(directory, wanted, lists, replace(read, progress=progress))
    if plan is not None and not begun:
        plan.save(folder.path)
    if plan is not None and SurveyPlan.load(folder.path) is None:
        raise InvalidInput("folder_without_survey")
    users = sum(home.users for home in folder.parties.values())
    note(f"{users:,} users drawn with seed {folder.options.seed}; everything is in {folder.path}")
    note(f"`treetop up --directory {folder.path}` goes on from there")
    if folder.options.weeks is not None:
        present_campaign(campaign_answers(folder, flower), json, target)
        return
    truth = GroundTruth(folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: whatever was started is stopped, too
    with Processes(lambda name: note(f"{name} died and was started again")) as processes:
        federation = LocalFederation(folder, processes, SurveyPlan.load(folder.path), flower)
        found = answered(folder, federation, phones=phones, open_page=open_page)
        present(truth.scored(Answer.from_json(found)), json, target)
        if stay:
            note(f"still up: {federation.page}; Ctrl-C ends it")
            federation.stay()


def _campaign_options(
    campaign: bool, weeks: int | None, drift: float | None, every: str | None, *, survey: bool, mode: str | None
) -> dict[str, Any]:
    """Return what a campaign adds to the options, or refuse options that make none."""
    if not campaign:
        if (weeks, drift, every) != (None, None, None):
            raise InvalidInput("campaign_options_alone")
        return {}
    if survey or mode == "rounds":
        raise InvalidInput("campaign_with_survey")
    seconds = None if every is None else seconds_of("--every", every)
    return {"weeks": weeks or DEFAULT_WEEKS, "drift": drift, "every": seconds}


def _flower(carrier: str, environment: Path) -> FlowerCarrier | None:
    """Return who carries the messages, unless the server calls the parties itself."""
    if carrier not in CARRIERS:
        raise UnknownName("carrier", carrier, CARRIERS)
    return FlowerCarrier(environment) if carrier == "flower" else None


def campaign_answers(folder: FederationFolder, flower: FlowerCarrier | None = None) -> list[Answer]:
    """Start every process, play the weeks, and return their answers, scored; show on the way how far it is."""
    if flower is not None and folder.options.every is None:
        raise InvalidInput("flower_needs_every")
    held = weekly_federations(folder.federation(), folder.options)
    note(f"{len(held)} weeks: every device answers in one of them, which it draws")
    with Processes(lambda name: note(f"{name} died and was started again")) as processes, Bars() as bars:
        federation = LocalCampaign(folder, processes, held, flower)
        bars.say("starting a server and parties")
        federation.start()
        weeks = federation.weeks(bars.show)
        for week in weeks:
            if week["state"] != "answered":
                note(f"week {week['number']} has no answer: {week['doing']}")
        return federation.tried(
            lambda: weekly_answers(folder, federation.server, weeks, held), "the server gave no answers"
        )


def _survey_plan(
    survey: bool, mode: str | None, question: str | None, collect: str | None, origins: list[str] | None
) -> SurveyPlan | None:
    """Return what people are asked, or refuse options that make no survey."""
    if not survey and (question or collect or origins):
        raise InvalidInput("survey_options_alone")
    if not survey:
        return None
    if mode == "rounds":
        raise InvalidInput("survey_in_rounds")
    from treetop.adapters.http.browser_rules import origin_problem  # noqa: PLC0415  loads starlette

    for origin in origins or ():
        if problem := origin_problem(origin):
            raise InvalidInput("origin_malformed", problem=problem.replace("allowed_origins", "--origin"))
    return SurveyPlan(question or DEFAULT_QUESTION, seconds_of("--collect", collect or "10m"), tuple(origins or ()))


def answered(folder: FederationFolder, federation: LocalFederation, *, phones: bool, open_page: bool) -> dict[str, Any]:
    """Start every process, let the devices report, and return the answer; show on the way how far it is."""
    plan = SurveyPlan.load(folder.path)
    with ExitStack() as stack:
        bars = stack.enter_context(Bars())
        bars.say("starting a server and parties")
        federation.start()
        note(f"page: {federation.page} opens with the key in {folder.path / 'server' / 'admin.key'}")
        if open_page:
            webbrowser.open(federation.page)
        federation.ask()
        if plan is not None:
            from treetop.services.local.survey_site import SurveySite  # noqa: PLC0415  loads starlette and uvicorn

            task = federation.asked_people()
            replace_durably(folder.path / "site.json", task.for_other_sites())
            site = stack.enter_context(SurveySite(plan, task, federation.one_ticket, folder.path, StructuredLog()))
            _invite(site, plan, phones)
        federation.play()
        return federation.follow(bars.show)


def _invite(site: "SurveySite", plan: SurveyPlan, phones: bool) -> None:
    """Say where people answer: on this machine, and with phones of the same network."""
    note(f"survey: {site.listen(HOST)} on this machine, open for {plan.seconds // 60} min after the first start")
    address = network_address() if phones else None
    if address is not None:
        url, fingerprint = site.listen_to_phones(address)
        note(f"phones in the same network: {url}")
        note(f"its certificate was made here, so a phone warns once; SHA-256 {fingerprint[:23]}…")
        for line in qr_lines(url):
            err.print(line, highlight=False, soft_wrap=True)


def qr_lines(url: str) -> list[str]:
    """Return an address as a QR code in half blocks, so that a phone need not type it."""
    from segno import make_qr  # noqa: PLC0415  an extra, loaded where a code is shown

    drawn = StringIO()
    # The standard asks for 4 modules of margin; readers manage with 2 where the terminal's background goes on.
    make_qr(url, error="l").terminal(drawn, border=2, compact=True)
    return drawn.getvalue().splitlines()


MAX_BARS = 8
"""Parties with a bar each; more share one, which a terminal has room for."""


class Bars:
    """A bar for every party's devices, or one for those of many parties, and a line for the query."""

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
        reported = standing.reported
        if len(reported) > MAX_BARS:
            finished = sum(done >= users for done, users in reported.values())
            everybody = tuple(map(sum, zip(*reported.values(), strict=True)))
            self._move("all", f"devices of {len(reported)} parties, {finished} done", *everybody)
        else:
            for party, (done, users) in reported.items():
                self._move(party, f"devices of {party}", done, users)
        self._progress.update(self._query, completed=standing.query["steps"])
        self.say(f"query: {standing.query['doing']}")

    def _move(self, about: str, said: str, done: int, users: int) -> None:
        if about not in self._tasks:
            self._tasks[about] = self._progress.add_task(said, total=users)
        self._progress.update(self._tasks[about], description=said, completed=done)
