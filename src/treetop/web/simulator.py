"""The simulator (`treetop page`): a query over a file, answered by simulated users, on this machine only.

Runs take turns in one thread, and pages poll their progress. Results are those that `treetop find` and
`treetop evaluate` compute for the command line that the page shows.
"""

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Router

from treetop.adapters.http.browser_rules import LOCAL_NAMES
from treetop.adapters.http.problem_details import Problem
from treetop.adapters.http.request_guard import LocalService, RequestGuard
from treetop.adapters.system.telemetry import StructuredLog
from treetop.answers.answer import Answer
from treetop.datasets.federation import Federation
from treetop.errors import InvalidInput, TreetopError
from treetop.evaluation.evaluate import Experiment, Row
from treetop.evaluation.grid import cells_of
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import MECHANISMS
from treetop.mechanisms.strategy import ItemsAhead, choose
from treetop.oracles.set_reports import DEFAULT_ITEMS
from treetop.query.find import simulated_answer
from treetop.web.answer_pages import NOT_RUN, add_answers
from treetop.web.answer_view import view_of
from treetop.web.drawings.charts import Point, curves
from treetop.web.plan_view import mode_of, plan_view
from treetop.web.question_form import LIMITS, LIST_KINDS, STRATEGIES_IN_WORDS, AskedQuestion, chosen, number
from treetop.web.site import PREFIX, Link, Site, Visit, Visitor, address

TITLE = "Treetop simulator"
LINKS = (Link("/", "Simulator"),)
MAX_RUNS = 50
"""Kept for their pages; the oldest one goes."""
MAX_REPEATS = 100
MAX_SEED = 2**32 - 1
MAX_PARTIES_PLANNED = 1000
"""The largest parties, which a plan takes into account."""


@dataclass
class Run:
    """One run of the simulator: its command, its progress and its result."""

    number: int
    command: str
    state: str = "waiting"
    done: int = 0
    total: int = 0
    error: str = ""
    answer: Answer | None = None
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    future: "Future[None] | None" = field(default=None, repr=False)

    @property
    def over(self) -> bool:
        """Return whether the run has ended."""
        return self.state in ("done", "failed", "replaced")


@dataclass(frozen=True)
class AskedRun:
    """The fields of the form besides the question itself."""

    question: AskedQuestion
    seed: int = 1
    mechanisms: tuple[str, ...] = ("panorama", "canopy", "taps")
    repeats: int = 5

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise InvalidInput("seed_out_of_range", most=MAX_SEED, seed=self.seed)
        if not 1 <= self.repeats <= MAX_REPEATS:
            raise InvalidInput("repeats_out_of_range", max_repeats=MAX_REPEATS, repeats=self.repeats)

    @classmethod
    def read(cls, visit: Visit) -> "AskedRun":
        """Read the form."""
        mechanisms = tuple(chosen(visit, "mechanisms", tuple(MECHANISMS)))
        return cls(
            AskedQuestion.read(visit),
            number(visit, "seed", cls.seed, int),
            mechanisms or cls.mechanisms,
            number(visit, "repeats", cls.repeats, int),
        )

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Return the epsilons at which mechanisms are compared: the one asked for, half of it and twice as much."""
        epsilon = float(self.question.epsilon)
        return (epsilon / 2, epsilon, epsilon * 2)


class ByAddress:
    """The entrance of the simulator: anyone with its address, which ends in a random key.

    Every user of a machine reaches its ports, and the file that is read here may be its owner's alone (T24).
    """

    def __init__(self) -> None:
        self._visitor = Visitor(token_urlsafe(32), "")
        self._cookie = token_urlsafe(32)
        # Browsers send cookies to all ports of a machine, so each simulator has another name for its own.
        self._name = f"treetop_{sha256(self._cookie.encode()).hexdigest()[:8]}"
        self._key = token_urlsafe(32)
        self._keys_for_once = set[str]()

    @property
    def path(self) -> str:
        """Return the path by which the owner enters, any number of times."""
        return address(f"/enter/{self._key}")

    def path_for_once(self) -> str:
        """Return a path that works once: a browser is started with it, and other users can read command lines."""
        key = token_urlsafe(32)
        self._keys_for_once.add(key)
        return address(f"/enter/{key}")

    def visitor(self, request: Request) -> Visitor | None:
        """Return the only visitor, if the request has her cookie."""
        shown = request.cookies.get(self._name, "")
        return self._visitor if compare_digest(shown.encode(), self._cookie.encode()) else None

    def add_to(self, site: Site) -> None:
        """Add the entrance, and the refusal of strangers."""
        site.add("GET", "/enter/{key}", self._enter, for_everybody=True)
        site.add("GET", "/login", self._stranger, for_everybody=True)

    def _enter(self, visit: Visit) -> Response:
        key: str = visit.request.path_params["key"]
        if key in self._keys_for_once:
            self._keys_for_once.remove(key)
        elif not compare_digest(key.encode(), self._key.encode()):
            return self._stranger(visit)
        entered = RedirectResponse(address("/"), 303)
        entered.set_cookie(self._name, self._cookie, path=PREFIX, httponly=True, samesite="strict")
        return entered

    def _stranger(self, visit: Visit) -> Response:  # noqa: ARG002  every stranger gets the same
        raise Problem(403, "this page is opened with the whole address that `treetop page` printed")


class Simulator:
    """All pages of the simulator over one federation."""

    def __init__(self, federation: Federation, source: Sequence[str], site: Site, *, audit: str = NOT_RUN) -> None:
        """`source` is the part of a command line that reads the same federation."""
        self._federation = federation
        self._source = source
        self._site = site
        self._runs: dict[int, Run] = {}
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, "simulator")
        site.add("GET", "/", self.form)
        site.add("POST", "/plan", self.plan)
        site.add("POST", "/runs", self.begin)
        site.add("GET", "/runs/{number}", self.run)
        add_answers(site, "/runs/{number}", self._answer, audit=lambda: audit)

    def form(self, visit: Visit) -> Response:
        """Show the form; the page requests its plan, which takes a moment, afterwards."""
        asked = AskedRun(AskedQuestion())
        return self._site.shown(
            visit,
            "simulator.html.jinja",
            asked=asked.question,
            form=asked,
            federation=self._federation,
            sets=self._federation.holds_sets,
            strategies=STRATEGIES_IN_WORDS,
            list_kinds=LIST_KINDS,
            **LIMITS,
            mechanisms=tuple(MECHANISMS),
        )

    def plan(self, visit: Visit) -> Response:
        """Plan the question that the form holds at the moment."""
        try:
            values = self._planned(AskedRun.read(visit))
        except TreetopError as refusal:
            values = {"error": str(refusal), "plan": None, "command": "", "has_list": False}
        return self._site.shown(visit, "plan.html.jinja", **values)

    def begin(self, visit: Visit) -> Response:
        """Begin a run; it replaces one that still waits for its turn."""
        compares = visit.field("do") == "compare"
        try:
            asked = AskedRun.read(visit)
            command = self._comparison(asked) if compares else self._command(asked)
        except TreetopError as refusal:
            run = Run(0, "", "failed", error=str(refusal))
            if visit.part_only:
                return self._site.shown(visit, "run.html.jinja", **self._run_values(run))
            raise Problem(422, str(refusal)) from None
        with self._lock:
            for waiting in self._runs.values():
                if waiting.future is not None and waiting.future.cancel():
                    waiting.state = "replaced"
            run = Run(max(self._runs, default=0) + 1, command)
            self._runs[run.number] = run
            for old in sorted(self._runs)[:-MAX_RUNS]:
                del self._runs[old]
            run.future = self._thread.submit(self._compare if compares else self._find, run, asked)
        if visit.part_only:
            return self._site.shown(visit, "run.html.jinja", **self._run_values(run))
        return RedirectResponse(address(f"/runs/{run.number}"), 303)

    def run(self, visit: Visit) -> Response:
        """Show the progress of a run, or its result."""
        template = "run.html.jinja" if visit.part_only else "run_page.html.jinja"
        return self._site.shown(visit, template, **self._run_values(self._run(visit)))

    def _run(self, visit: Visit) -> Run:
        wanted: str = visit.request.path_params["number"]
        found = self._runs.get(int(wanted)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else None
        if found is None:
            raise Problem(404, f"there is no such run; the last {MAX_RUNS} are kept")
        return found

    def _answer(self, visit: Visit) -> Answer:
        run = self._run(visit)
        if run.answer is None:
            raise Problem(404, "this run has no answer")
        return run.answer

    def _planned(self, asked: AskedRun) -> Mapping[str, Any]:
        question = asked.question
        federation = self._federation
        ahead = ItemsAhead(federation.items, federation.encoding)
        strategy = choose(question.query, ahead, parties=len(federation.parties), hash_key="00" * 8)
        users = tuple(sorted((party.total for party in federation.parties), reverse=True)[:MAX_PARTIES_PLANNED])
        items = DEFAULT_ITEMS if federation.holds_sets else 1
        return {
            "plan": plan_view(question, users, mode_of(strategy), items),
            "error": "",
            "command": self._command(asked),
            "has_list": bool(question.list_kind),
        }

    def _command(self, asked: AskedRun) -> str:
        return shlex.join(["treetop", "find", *self._source, *asked.question.options, "--seed", str(asked.seed)])

    def _comparison(self, asked: AskedRun) -> str:
        question = asked.question
        listed = asked.question.options[4:]
        if question.strategy is not None:
            listed = listed[2:]  # every mechanism has its own
        epsilons = ",".join(f"{epsilon:g}" for epsilon in asked.epsilons)
        return shlex.join(
            [
                "treetop",
                "evaluate",
                *self._source,
                "--mechanisms",
                ",".join(asked.mechanisms),
                "--epsilons",
                epsilons,
                "--ks",
                str(question.k),
                "--repeats",
                str(asked.repeats),
                "--seed",
                str(asked.seed),
                *listed,
            ]
        )

    def _find(self, run: Run, asked: AskedRun) -> None:
        def found() -> None:
            run.answer = simulated_answer(self._federation, asked.question.query, seed=asked.seed)

        _carried_out(run, found)

    def _compare(self, run: Run, asked: AskedRun) -> None:
        question = asked.question

        def compared() -> None:
            cells = cells_of(asked.mechanisms, epsilons=asked.epsilons, ks=[question.k])
            given = Query(catalogue=question.query.catalogue, word_list=question.query.word_list)
            experiment = Experiment.of(self._federation, cells, given, repeats=asked.repeats, seed=asked.seed)
            run.total = experiment.grid.runs

            def advance(runs: int) -> None:
                run.done += runs

            evaluation = experiment.evaluation(dict(experiment.rows(1, advance)))
            run.rows = evaluation.rows
            run.notes = tuple(note.text for note in evaluation.notes)

        _carried_out(run, compared)

    def _run_values(self, run: Run) -> Mapping[str, Any]:
        view = None if run.answer is None else view_of(run.answer, address(f"/runs/{run.number}/answer"))
        series: dict[str, list[Point]] = {}
        for row in run.rows:
            series.setdefault(row.mechanism, []).append(Point(row.epsilon, row.f1, row.f1_se))
        drawn = curves(series, "F1 against the true items", "epsilon") if series else None
        return {"run": run, "view": view, "curves": drawn}


def _carried_out(run: Run, work: Any) -> None:
    """Do the work of a run and record how it ended; no error keeps the next run from its turn."""
    run.state = "running"
    try:
        work()
        run.state = "done"
    except TreetopError as refusal:
        run.error = str(refusal)
        run.state = "failed"
    except Exception as error:
        run.error = f"the simulator failed with {type(error).__name__}"
        run.state = "failed"


def simulator_app(
    federation: Federation, source: Sequence[str], log: StructuredLog, entrance: ByAddress, audit: str = NOT_RUN
) -> RequestGuard:
    """Return the application of a simulator.

    It answers to this machine's own names only: a page of another site could have its own name lead here.
    """

    def refused(error: Exception) -> Problem:
        if isinstance(error, TreetopError):
            return _refused(error)
        log.failure("internal_error", error)
        return Problem(500, "internal error")

    site = Site(TITLE, LINKS, entrance, refused)
    entrance.add_to(site)
    Simulator(federation, source, site, audit=audit)
    return RequestGuard(LocalService(log, LOCAL_NAMES), Router(site.routes(), redirect_slashes=False), _refused)


def _refused(error: TreetopError) -> Problem:
    return Problem(422, str(error))
