"""Campaigns of a server: started, ordered week by week, missed, stopped, shown."""

import json
from typing import Any

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.parties import SIGNING, served
from tests.support.servers import ADMIN_KEY, CAMPAIGN, HostedServer, wanted_campaign

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.key_files import PinnedKeys
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import checked_campaign
from treetop.services.server.app import server_app

EVERY = 1000


class Hosted(HostedServer):
    """A server whose clock a test moves, and which waits for the answers of what it begins."""

    clock: HandClock

    def advance(self, to: int) -> None:
        self.clock.wall = to
        self.campaigns.advance()
        for query in list(self.queries._queries.values()):
            if query.thread.ident is not None:
                query.thread.join(60)


@pytest.fixture
def hosted() -> Hosted:
    return Hosted(clock=HandClock(NOW))


def started(hosted: Hosted, **changes: Any) -> str:
    return hosted.campaigns.take(wanted_campaign(every=EVERY, weeks=3, **changes)).campaign


def test_every_week_is_asked_when_it_begins_and_never_again(hosted: Hosted) -> None:
    campaign = started(hosted, starts=NOW + 50)
    assert hosted.campaigns.state(campaign).state == "waiting"
    hosted.advance(NOW + 49)
    assert hosted.queries.states() == []
    for number in range(3):
        hosted.advance(NOW + 50 + number * EVERY)
        hosted.advance(NOW + 50 + number * EVERY + 7)
        assert len(hosted.queries.states()) == number + 1
        assert hosted.campaigns.state(campaign).week == number + 1
    hosted.advance(NOW + 10)  # the clock is set back
    hosted.advance(NOW + 50 + 3 * EVERY)
    shown = hosted.campaigns.state(campaign)
    assert (shown.state, shown.week) == ("over", None)
    assert [week.state for week in shown.answers] == ["answered"] * 3
    assert [query.name for query in hosted.queries.states()] == [f"fruit week {number}" for number in (1, 2, 3)]
    assert [week.compared_with for week in shown.answers] == [None, 1, 2]
    assert all(week.reports == 1500 for week in shown.answers)


def test_a_week_that_ended_while_the_server_was_down_is_lost(hosted: Hosted) -> None:
    """The server is down for the whole of week 2 and a part of week 3, which is asked in what is left of it."""
    campaign = started(hosted)
    hosted.advance(NOW)
    again = Hosted(hosted.channels, hosted.journal, clock=HandClock(NOW + 2 * EVERY + 700))
    again.campaigns.resume()
    again.advance(NOW + 2 * EVERY + 700)
    assert [week.state for week in again.campaigns.state(campaign).answers] == ["answered", "missed", "answered"]
    assert len(again.queries.states()) == 2
    assert "week_missed" in again.log.getvalue()


def test_a_week_goes_without_an_answer_that_does_not_come(hosted: Hosted) -> None:
    """The first week's query is running: the second waits for half a week, then is asked all the same."""
    campaign = started(hosted)
    hosted.advance(NOW)
    task = hosted.queries.task_of_week(campaign, 0)
    assert task is not None
    hosted.queries._change(task, state="running")
    hosted.advance(NOW + EVERY)
    assert len(hosted.queries.states()) == 1
    hosted.advance(NOW + EVERY + EVERY // 2)
    assert len(hosted.queries.states()) == 2


def test_stopped_is_stopped_after_a_restart_too(hosted: Hosted) -> None:
    campaign = started(hosted)
    hosted.advance(NOW)
    assert hosted.campaigns.end("fruit").state == "stopped"
    again = Hosted(hosted.channels, hosted.journal, clock=HandClock(NOW + EVERY))
    again.campaigns.resume()
    again.advance(NOW + EVERY)
    shown = again.campaigns.state(campaign)
    assert (shown.state, shown.week, len(shown.answers)) == ("stopped", None, 1)
    assert again.campaigns.take(wanted_campaign(every=EVERY, weeks=3)).state == "stopped"
    assert started(again, starts=NOW + EVERY) != campaign  # the name is free again


def test_names_of_earlier_weeks_are_on_the_list_of_the_next() -> None:
    """Week 1 knows a list of two words that hashes are read by; week 2 knows what week 1 found, first."""
    hosted = Hosted(clock=HandClock(NOW))
    known = ItemList(tuple(f"word {number}" for number in range(2000)))
    hosted.queries.keep_list(known.digest, known.document)
    campaign = started(hosted, word_list=known.digest)
    hosted.advance(NOW)
    hosted.advance(NOW + EVERY)
    first, second = hosted.campaigns.state(campaign).answers
    found = [row.item for row in first.items if row.source == "listed"]
    assert found
    orders = [hosted.queries._queries[week.task or ""].order for week in (first, second)]
    assert orders[0].listed == known
    assert orders[1].listed is not None
    assert orders[1].listed.items[: len(found)] == tuple(found)
    assert sorted(orders[1].listed.items) == sorted(known.items)


def test_a_week_whose_question_has_changed_is_not_asked(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version of the server plans otherwise: devices would refuse the task, so nobody is asked."""
    campaign = started(hosted)
    monkeypatch.setattr("treetop.services.server.campaign_manager.week_order", lambda *_: wanted_campaign(k=5).order(
        hosted.queries.parties, hosted.queries.item_list
    ))  # fmt: skip
    hosted.advance(NOW)
    (week,) = hosted.campaigns.state(campaign).answers
    assert week.state == "failed"
    assert "campaign of the task" in week.doing
    assert hosted.queries.states() == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"k": 4}, "'fruit' runs already: stop it first"),
        ({"name": "other", "starts": NOW - 5 * EVERY}, "must end in the future"),
        ({"name": "other", "mode": "rounds", "mechanism": "taps"}, "one-shot"),
    ],
)
def test_what_cannot_be_started_is_refused(hosted: Hosted, changes: dict[str, Any], told: str) -> None:
    started(hosted)
    with pytest.raises(InvalidInput, match=told):
        started(hosted, **changes)
    assert len(hosted.campaigns.states()) == 1


def test_a_central_epsilon_is_that_of_the_users_of_one_week(hosted: Hosted) -> None:
    """A third of the users answers in a week: the crowd is smaller, and so is the epsilon."""
    hosted.queries._expected = {"north": 90_000, "south": 60_000}
    wish = {"central": {"epsilon": 0.3, "delta": 1e-6}}
    weekly = float(hosted.campaigns.take(wanted_campaign(weeks=3, name="weekly", **wish)).epsilon)
    fewer = float(hosted.campaigns.take(wanted_campaign(weeks=30, name="monthly", **wish)).epsilon)
    assert 0.3 < fewer < weekly < 4


def test_over_http(hosted: Hosted) -> None:
    with served(server_app(hosted.context)) as port:
        connection = RetryingConnection(f"http://127.0.0.1:{port}", retry=RetryPolicy(in_all=0))

        def asked(method: str, path: str, body: object = None, key: str = ADMIN_KEY) -> tuple[int, Any]:
            sent = None if body is None else json.dumps(body).encode()
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            reply = connection.ask(Request(method, path, sent, headers))
            return reply.status, json.loads(reply.body)

        assert asked("POST", "/v1/campaigns", CAMPAIGN, key="nobody")[0] == 401
        status, shown = asked("POST", "/v1/campaigns", CAMPAIGN)
        assert (status, shown["state"], shown["weeks"]) == (201, "running", 12)
        digest = shown["campaign"]
        hosted.advance(NOW)
        for named in (digest, "fruit"):
            status, shown = asked("GET", f"/v1/campaigns/{named}")
            assert (status, shown["week"], len(shown["answers"])) == (200, 1, 1)
        assert [each["answers"] for each in asked("GET", "/v1/campaigns")[1]["campaigns"]] == [[]]
        status, document = asked("GET", f"/v1/campaigns/{digest}/document", key="nobody")
        assert checked_campaign(json.dumps(document).encode(), PinnedKeys([SIGNING.public])).digest.hex() == digest
        assert asked("POST", "/v1/campaigns/fruit/stop")[1]["state"] == "stopped"
        assert asked("GET", "/v1/campaigns/vegetables")[0] == 404
        assert asked("GET", f"/v1/campaigns/{'0' * 64}/document")[0] == 404
        connection.close()
    with pytest.raises(UnknownName):
        hosted.campaigns.state("vegetables")


def test_the_thread_orders_weeks_by_itself() -> None:
    hosted = Hosted(clock=HandClock(NOW))
    hosted.campaigns.start()
    campaign = started(hosted)
    for _ in range(600):
        if hosted.campaigns.state(campaign).answers:
            break
        hosted.campaigns._wake.wait(0.05)
    hosted.campaigns.stop()
    hosted.advance(NOW)
    assert [week.state for week in hosted.campaigns.state(campaign).answers] == ["answered"]
