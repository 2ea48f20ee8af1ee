"""The server's endpoints over real sockets, its parties in memory."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.journals import ScriptedJournal
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, ORDER, SIZES, Away, HostedServer, channels, manager_over, wanted

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.key_files import PinnedKeys
from treetop.encoding.item_codecs import Hashed
from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation, UnknownName
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import checked, checked_task
from treetop.services.server.app import server_app
from treetop.services.server.client import ServerClient
from treetop.services.server.query_manager import QueryManager
from treetop.wording import Note


class NobodyToAsk:
    """A channel that an answered query does not need."""

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("an answered query asks nobody")


@pytest.fixture
def port() -> Iterator[int]:
    with served(server_app(HostedServer().context)) as port:
        yield port


OPENED: list[RetryingConnection] = []


@pytest.fixture(autouse=True)
def _hang_up() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def connection(port: int) -> RetryingConnection:
    OPENED.append(RetryingConnection(f"http://127.0.0.1:{port}", retry=RetryPolicy(in_all=0)))
    return OPENED[-1]


def client(port: int, key: str = ADMIN_KEY) -> ServerClient:
    return ServerClient(connection(port), key)


def answered(asked: ServerClient, task: str) -> dict[str, Any]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = asked.result(task)
        if found is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(asked.state(task))


def get(port: int, path: str) -> Any:
    return connection(port).ask(Request("GET", path))


def test_an_order_is_answered(port: int) -> None:
    asked = client(port)
    task = asked.order(ORDER)
    result = answered(asked, task)
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]
    assert result["missing"] == []
    assert result["fakes_needed"] > 0
    assert asked.order(ORDER) == task
    assert [query["state"] for query in asked.queries()] == ["answered"]


def test_a_central_epsilon_becomes_one_of_reports_and_is_computed_again_at_the_close(port: int) -> None:
    asked, wish = client(port), {**ORDER, "central": {"epsilon": 1.0, "delta": 1e-5}}
    with pytest.raises(InvalidInput, match="the expected users of every party, found none of 'north'"):
        asked.order(wish)
    task = asked.order({**wish, "expected": SIZES})
    result = answered(asked, task)
    assert 1 <= float(result["privacy"]["epsilon"]) < 4
    assert result["choices"][-1]["parameters"]["wanted"] == "(1, 1e-5)-DP"
    assert result["choices"][-1]["parameters"]["epsilon"] == result["epsilon"]
    assert {party["central"]["delta"] for party in result["parties"]} == {1e-5}
    assert all(party["central"]["epsilon"] <= result["epsilon"] for party in result["parties"])
    short = [party for party in result["parties"] if party["central"]["epsilon"] > 1]
    assert len([note for note in result["notes"] if note["code"] == "at_party"]) == len(short)
    assert asked.order({**wish, "expected": SIZES}) == task
    with pytest.raises(InvalidInput, match="at most 1/N"):
        asked.order({**wish, "expected": SIZES, "central": {"epsilon": 1.0, "delta": 0.1}})


def test_rounds_leave_a_public_log_of_signed_lists(port: int) -> None:
    asked = client(port)
    task = asked.order({**ORDER, "mode": "rounds"})
    answered(asked, task)
    lists = json.loads(get(port, f"/v1/tasks/{task}/log").body)["lists"]
    assert len(lists) == 2 * len(SIZES)
    keys = PinnedKeys(json.loads(get(port, "/v1/keys").body)["keys"])
    for document in lists:
        assert checked("list", json.dumps(document).encode(), keys)
    assert checked_task(get(port, f"/v1/tasks/{task}").body, keys).digest.hex() == task


NAMED: dict[str, Any] = {
    "name": "drinks", "k": 2, "epsilon": "8", "settings": {"bits": "8", "text_chunks": "1", "hash_key": "mine"},
    "least": {"estimate": 1, "validation": 1},
}  # fmt: skip


def test_a_list_is_put_once_named_by_its_digest_and_given_to_every_party() -> None:
    """Whoever holds the word that is hashed to 200 is counted under it, after a restart of the server, too."""
    words = ItemList(tuple(f"word {number}" for number in range(2_000)), ordered=True, source="words.txt")
    codec = Hashed(8, "mine")
    by_code = {codec.hash_of(word.encode()): word for word in reversed(words.items)}
    parties, journal = channels(), ScriptedJournal()
    order = {**NAMED, "word_list": words.digest, "text_recovery": False}
    with served(server_app(HostedServer(parties, journal).context)) as port:
        asked = client(port)
        with pytest.raises(InvalidInput, match="expected a list that was put to /v1/lists before"):
            asked.order(order)
        assert asked.keep_list(words) == asked.keep_list(words) == words.digest
        task = asked.order(order)
        result = answered(asked, task)
    assert [(row["item"], row["source"]) for row in result["items"]] == [
        (by_code[200], "listed"), (by_code[77], "listed")
    ]  # fmt: skip
    assert Note("names_from_list", source="words.txt", words=2000, ordered=True).to_json() in result["choices"]
    for channel in parties.values():
        assert channel._party.lists == {words.digest: words.document}
    manager = manager_over(journal, dict.fromkeys(SIZES, NobodyToAsk()))
    manager.resume()
    assert manager.state(task).state == "answered"


def test_a_list_that_is_none_or_another_is_refused(port: int) -> None:
    words, headers = ItemList(("chai",)), {"Authorization": f"Bearer {ADMIN_KEY}"}
    for digest, document in ((words.digest, b"x"), ("ab" * 32, words.document), (words.digest, b"")):
        reply = connection(port).ask(Request("PUT", f"/v1/lists/{digest}", document, headers))
        assert reply.status == 400
    assert connection(port).ask(Request("PUT", f"/v1/lists/{words.digest}", words.document)).status == 401
    with pytest.raises(PeerViolation, match="401"):
        client(port, "wrong" * 10).keep_list(words)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k": 0}, "k:"), ({"k": "10"}, "k:"), ({"epsilon": "ten"}, "epsilon"), ({"mechanism": "tapz"}, "taps"),
        ({"mode": "shots"}, "one-shot"), ({"parties": ["east"]}, "north"), ({"colour": "red"}, "colour"),
        ({"settings": {"bitz": "8"}}, "bits"), ({"policy": "hope"}, "wait"), ({"name": ""}, "name"),
        ({"catalogue": "ab"}, "catalogue"), ({"text_recovery": "yes"}, "text_recovery"), ({"strategy": "tree"}, "trie"),
        ({"items_per_user": 0}, "items_per_user"), ({"items_per_user": "8"}, "items_per_user"),
        ({"items_per_user": 8, "reading": "shares"}, "items_per_user = 1"), ({"reading": "occurrences"}, "not counted"),
        ({"items_per_user": 8, "mechanism": "taps"}, "one item that she holds"),
        ({"oracle": "krr"}, "olh"), ({"deadlines": {"opens": 5, "enrolment": 4}}, "deadlines"),
    ],
)  # fmt: skip
def test_an_order_that_cannot_be_asked_is_refused(port: int, change: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        client(port).order({**ORDER, **change})
    assert client(port).queries() == []


@pytest.mark.parametrize("path", ["/v1/queries", f"/v1/queries/{'0' * 64}", f"/v1/queries/{'0' * 64}/result"])
@pytest.mark.parametrize("key", ["", "wrong" * 10])
def test_queries_need_an_admin_key(port: int, path: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    assert connection(port).ask(Request("GET", path, headers=headers)).status == 401


@pytest.mark.parametrize("path", [f"/v1/tasks/{'0' * 64}", f"/v1/tasks/{'0' * 64}/log", "/v1/tasks/short", "/other"])
def test_what_is_not_there_is_a_problem(port: int, path: str) -> None:
    reply = get(port, path)
    assert reply.status in {404, 422}
    assert json.loads(reply.body)["status"] == reply.status


def test_everybody_may_look_at_health_and_nobody_at_counters_without_a_key(port: int) -> None:
    assert json.loads(get(port, "/v1/health").body) == {"status": "ok", "parties": ["north", "south"]}
    assert get(port, "/metrics").status == 401
    with pytest.raises(PeerViolation, match="no such query"):
        client(port).state("0" * 64)


def test_a_server_that_is_away_is_named_as_one() -> None:
    away = ServerClient(RetryingConnection("http://127.0.0.1:9", retry=RetryPolicy(in_all=0)), ADMIN_KEY)
    with pytest.raises(PartyUnreachable, match="the server at http://127.0.0.1:9 does not answer: ConnectionRefused"):
        away.queries()


def test_a_query_that_failed_goes_on_with_the_same_order() -> None:
    opened = channels()
    opened["north"] = north = Away(opened["north"])
    manager = manager_over(ScriptedJournal(), opened)
    order = wanted(patience=1)
    task = manager.take(order).task
    assert ended(manager, task) == "failed"
    assert "nobody listens" in manager.state(task).doing
    assert manager.result(task) is None
    north.away = False
    manager.take(order)
    assert ended(manager, task) == "answered"


def test_a_query_may_proceed_without_a_party() -> None:
    opened = channels()
    opened["north"] = Away(opened["north"])
    manager = manager_over(ScriptedJournal(), opened)
    task = manager.take(wanted(policy="proceed", patience=1, expected=SIZES)).task
    assert ended(manager, task) == "answered"
    result = json.loads(manager.result(task) or b"")
    assert [missing["name"] for missing in result["missing"]] == ["north"]
    assert result["covered"]["share"] == pytest.approx(600 / 1500)


def test_a_new_start_takes_up_what_was_ordered() -> None:
    journal = ScriptedJournal()
    first = manager_over(journal, channels())
    task = first.take(wanted()).task
    assert ended(first, task) == "answered"
    again = manager_over(journal, dict.fromkeys(SIZES, NobodyToAsk()))
    with pytest.raises(UnknownName):
        again.state(task)
    again.resume()
    assert ended(again, task) == "answered"
    assert again.result(task) == first.result(task)


def test_other_parties_in_the_settings_do_not_change_an_order() -> None:
    journal, opened = ScriptedJournal(), channels()
    first = manager_over(journal, opened)
    task = first.take(wanted()).task
    assert ended(first, task) == "answered"
    more = manager_over(journal, {**opened, "east": NobodyToAsk()})
    more.resume()
    assert [state.task for state in more.states()] == [task]
    fewer = manager_over(journal, {"north": opened["north"]})
    fewer.resume()
    assert fewer.states() == []


def test_the_settings_say_what_to_expect_unless_the_order_does() -> None:
    journal = ScriptedJournal()
    manager = manager_over(journal, channels(), expected={"north": 100, "south": 700, "west": 5})
    task = manager.take(wanted(policy="proceed", expected={"south": 800})).task
    assert ended(manager, task) == "answered"
    result = json.loads(manager.result(task) or b"")
    (missing,) = result["missing"]
    assert "devices: expected 400 at most, 4 times the 100 users expected, found 900" in missing["reason"]
    assert result["parties"][0]["coverage"] == 600 / 800
    later = manager_over(journal, channels(), expected={"north": 900, "south": 1})
    later.resume()
    assert ended(later, task) == "answered"
    assert later.result(task) == manager.result(task)
    other = manager.take(wanted(name="another", policy="proceed", max_times_expected=9)).task
    assert ended(manager, other) == "answered"
    assert json.loads(manager.result(other) or b"")["missing"] == []


def ended(manager: QueryManager, task: str) -> str:
    end = time.monotonic() + 60
    while manager.state(task).state == "running" and time.monotonic() < end:
        time.sleep(0.02)
    return manager.state(task).state
