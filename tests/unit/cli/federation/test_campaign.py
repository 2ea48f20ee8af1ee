"""`treetop campaign` against a server in memory."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.every_command import app
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, HostedServer
from typer.testing import CliRunner

from treetop.cli.federation.campaign import _add_counts_so_far, _span, smallest_share
from treetop.errors import InvalidInput
from treetop.services.server.app import server_app

EVERY = 1000


@pytest.fixture
def hosted() -> HostedServer:
    made = HostedServer(clock=HandClock(NOW))
    made.queries._expected = {"north": 1800, "south": 1200}
    return made


@pytest.fixture
def options(hosted: HostedServer, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    key = tmp_path / "admin.key"
    key.write_text(ADMIN_KEY)
    key.chmod(0o600)
    with served(server_app(hosted.context)) as port:
        yield "--server", f"http://127.0.0.1:{port}", "--key-file", str(key)


def run(*arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["campaign", *arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def start(options: tuple[str, ...], *more: str) -> dict[str, Any]:
    words = ("--name", "fruit", "--every", f"{EVERY}s", "--cycle", "2", "--cycles", "3", "--epsilon", "4", "--k", "3")
    narrow = ("--set", "bits=8", "--set", "text_chunks=1", "--least-reports", "1", "--starts", "2027-01-15T08:00Z")
    shown: dict[str, Any] = json.loads(run("start", *options, *words, *narrow, "--json", *more).stdout)
    return shown


def advance(hosted: HostedServer, to: int) -> None:
    hosted.clock.wall = to  # type: ignore[attr-defined]
    hosted.campaigns.advance()
    for query in list(hosted.queries._queries.values()):
        query.thread.join(60)


KEYS = [
    "campaign", "name", "attribute", "epsilon", "k", "mechanism", "encoding", "parties", "items_per_user", "listed",
    "expected", "expected_reports", "starts", "every", "weeks", "cycles", "over", "state", "silent_from",
    "silent_because", "week", "answers", "smallest_share",
]  # fmt: skip
WEEK_KEYS = [
    "number", "cycle", "week", "opens", "ends", "state", "doing", "task", "reports", "refusals", "compared_with",
    "items", "gone",
]  # fmt: skip


ITEM_KEYS = ["item", "count", "frequency", "stderr", "significant", "source", "change", "score"]
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "campaign_json.md"


def test_every_key_is_described() -> None:
    described = re.findall(r"^\| `([a-z_.\[\]]+)` \|", PAGE.read_text(), re.MULTILINE)
    nested = [f"answers[].{key}" for key in WEEK_KEYS] + [f"answers[].items[].{key}" for key in ITEM_KEYS]
    assert sorted(described) == sorted([*KEYS, *nested])


def test_one_minute_is_not_written_in_the_plural() -> None:
    assert [_span(seconds) for seconds in (1, 60, 7200, 604_800)] == ["1 second", "1 minute", "2 hours", "7 days"]


def test_a_campaign_from_its_start_to_its_stop(hosted: HostedServer, options: tuple[str, ...]) -> None:
    shown = start(options)
    assert list(shown) == KEYS
    assert (shown["state"], shown["starts"], shown["every"], shown["weeks"]) == ("running", NOW, EVERY, 2)
    assert shown["expected_reports"] == 1500
    assert (shown["silent_from"], shown["silent_because"]) == (NOW + 2 * EVERY, "window")
    assert 0 < shown["smallest_share"] < 1
    for week in range(2):
        advance(hosted, NOW + week * EVERY)
    found = json.loads(run("status", "fruit", *options, "--json").stdout)
    assert [list(week) for week in found["answers"]] == [WEEK_KEYS] * 2
    assert {tuple(row) for week in found["answers"] for row in week["items"]} == {tuple(ITEM_KEYS)}
    assert [week["compared_with"] for week in found["answers"]] == [None, 1]
    text = run("status", shown["campaign"], *options).stdout
    assert "week 2 of 6" in text
    told = " ".join(text.split())
    assert "weeks of 1,000 seconds, cycles of 2" in told
    assert "Week 1, from 2027-01-15 08:00:00 UTC: answered, 1,500 reports (100% of those expected)" in told
    assert "Silence from 2027-01-15 08:33:20 UTC" in told
    assert json.loads(run("status", *options, "--json").stdout)[0]["name"] == "fruit"
    assert "fruit" in run("status", *options).stdout
    assert json.loads(run("stop", "fruit", *options, "--json").stdout)["state"] == "stopped"
    advance(hosted, NOW + 2 * EVERY)
    assert len(hosted.queries.states()) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("start", "--every", "fortnight"), "--every expects a duration"),
        (("start", "--starts", "tomorrow"), "--starts expects now, or a time"),
        (("start", "--starts", "2001-01-01"), "must end in the future"),
        (("start", "--cycle", "2000"), "weeks"),
        (("start", "--epsilon", "x"), "epsilon"),
        (("status", "nobody"), "the server has no campaign 'nobody', found none"),
        (("stop", "nobody"), "the server has no campaign 'nobody'"),
    ],
)
def test_what_is_wrong_is_said(options: tuple[str, ...], arguments: tuple[str, ...], told: str) -> None:
    done = CliRunner().invoke(app, ["campaign", *arguments, *options])
    assert isinstance(done.exception, InvalidInput)
    assert told in str(done.exception)


def test_a_week_under_way_shows_what_parties_have_counted() -> None:
    week: dict[str, Any] = {"reports": None, "refusals": {}}
    silent: dict[str, Any] = {"reports": None, "refusals": {}}
    _add_counts_so_far(week, [silent])
    assert week == {"reports": None, "refusals": {}}
    told = [{"reports": 30, "refusals": {"not_my_week": 70}}, {"reports": 12, "refusals": {"not_my_week": 5}}]
    _add_counts_so_far(week, [*told, silent])
    assert week == {"reports": 42, "refusals": {"not_my_week": 75}}


def test_the_smallest_share_grows_with_the_weeks() -> None:
    shown = {
        "expected": {"a": 600_000, "b": 400_000}, "parties": ["a", "b"], "encoding": "hashed", "mechanism": "panorama",
        "listed": 0, "k": 10, "epsilon": "4", "items_per_user": None,
    }  # fmt: skip
    shares = [smallest_share({**shown, "weeks": weeks}) for weeks in (1, 12)]
    assert shares[0] is not None
    assert shares[1] is not None
    assert 0 < shares[0] < shares[1] < 0.02
    assert smallest_share({**shown, "weeks": 12, "expected": {}}) is None
    assert smallest_share({**shown, "weeks": 12, "mechanism": "taps"}) is None
