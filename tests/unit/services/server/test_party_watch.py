"""How parties are at the moment: asked together, shown again for a while, away without holding anybody up."""

from contextlib import ExitStack

import pytest
from tests.support.parties import SERVER_KEY, Hosted, document, live, task
from tests.support.servers import wanted

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.services.server.party_watch import GLANCE, SAID_AGAIN_SECONDS, PartyWatch, WatchedParty
from treetop.toml_files import Secret

TASK = task()


def at(port: int, key: str = SERVER_KEY, expected: int | None = 7) -> WatchedParty:
    return WatchedParty(
        lambda: RetryingConnection(f"http://127.0.0.1:{port}", retry=GLANCE), Secret(key.encode()), expected
    )


@pytest.fixture
def hosted() -> Hosted:
    found = Hosted()
    found.party.install(document(TASK))
    found.party.issue(TASK.digest, 9)
    return found


def test_parties_that_answer_are_away_or_say_nothing(hosted: Hosted) -> None:
    with live(hosted.context) as port:
        watch = PartyWatch({"north": at(port), "gone": at(1), "strange": at(port, "x" * 40)})
        north, gone, strange = watch.parties()
    assert (north.reachable, north.devices, north.reports_today, north.expected_users) == (True, 9, 0, 7)
    assert north.certificate_end is None
    assert (gone.reachable, gone.problem) == (False, "does not answer (ConnectionRefusedError)")
    assert (strange.reachable, strange.problem) == (True, "it does not say how it is")


def test_a_task_at_its_parties(hosted: Hosted) -> None:
    asked = wanted(parties=["north", "south"], expected={"north": 30})
    order = asked.order(("north", "south"), lambda _: pytest.fail("there is no list"))
    with live(hosted.context) as port:
        watch = PartyWatch({"north": at(port)})
        north, south = watch.standing(order, TASK.digest.hex())
        (unknown, _) = PartyWatch({"north": at(port)}).standing(order, "0" * 64)
    assert (north.party, north.expected, north.tickets, north.reports, north.problem) == ("north", 30, 9, 0, "")
    assert south.problem == "the settings do not name it any more"
    assert unknown.problem == "it does not know the task yet"


def test_what_was_seen_is_shown_again_for_a_while(hosted: Hosted) -> None:
    now = 0.0
    with ExitStack() as stack:
        port = stack.enter_context(live(hosted.context))
        watch = PartyWatch({"north": at(port)}, lambda: now)
        before = watch.parties()
        hosted.party.issue(TASK.digest, 1)
        hosted.context.standing._known.clear()
        assert watch.parties() is before
        now = SAID_AGAIN_SECONDS
        assert watch.parties()[0].devices == 10
        with watch._lock:  # somebody is looking
            now = 3 * SAID_AGAIN_SECONDS
            assert watch.parties()[0].devices == 10
