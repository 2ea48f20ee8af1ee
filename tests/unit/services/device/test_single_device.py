"""One device and its party: T4, T13, and what a person is told; the value is never shown."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_party import PINNED, FakeParty, serving
from tests.support.fixed_entropy import FixedEntropy
from tests.support.fleets import PATIENCE, fleet_task, publish_level
from tests.support.refusals import refused

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.errors import (
    BudgetExceeded,
    InvalidInput,
    LedgerRefused,
    PeerViolation,
    QuestionRefused,
    ReportRefused,
    TreetopError,
    UnknownName,
    ValueUnavailable,
)
from treetop.federation.campaign import Campaign, template_of
from treetop.federation.device.ledger import Caps
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.task import Deadlines, DeviceTask, Encoding, WeightedGroup
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import Refusal, ReportStatus, Ticket, decoded_refusals
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import SingleDevice
from treetop.trie.user_groups import Group


class Player:
    """A device whose folder outlives it, in front of a fake party."""

    def __init__(self, party: FakeParty, url: str, folder: Path) -> None:
        self.party, self.url, self.folder = party, url, folder
        self.told: list[str] = []
        self.slept: list[float] = []

    def run(self, item: Callable[[], str] = lambda: "77", **options: Any) -> ReportStatus | None:
        state = DeviceState(self.folder, options.pop("caps", None))
        client = PartyClient(RetryingConnection(self.url, retry=PATIENCE))
        task = self.party.task
        try:
            membership = TrustedTask.of(client.task(task.digest), task.digest, "north", PINNED)
            ticket = Ticket.from_bytes(self.party.write_tickets(1)[0])
            entropy = options.pop("entropy", None) or SystemEntropy()
            return SingleDevice(
                client, membership, ticket, state, lambda: [item()], entropy, self.told.append,
                sleep=self.slept.append, **options,
            ).run()  # fmt: skip
        finally:
            state.close()
            client.close()


def test_a_report_is_made_and_delivered_and_later_sent_again(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run() is ReportStatus.ACCEPTED
        assert player.run(lambda: "12") is ReportStatus.REPLAYED
    assert len(party.received) == 2
    assert len(party.distinct[0]) == 1
    assert "made before" in " ".join(player.told)
    state = DeviceState(tmp_path)
    assert [(event.deed, event.verdict) for event in state.events()] == [("sent", "accepted"), ("sent", "replayed")]
    state.close()


def test_ten_thousand_retries_are_one_byte_string(tmp_path: Path) -> None:
    """T4: the party answers too early for ever; nothing fresh is drawn for it."""
    party, left = FakeParty(fleet_task()), [10_000]

    def said(group: object) -> ReportStatus | None:
        left[0] -= 1
        return ReportStatus.TOO_EARLY if left[0] > 0 else None

    party.verdict = said
    with serving(party) as url:
        assert Player(party, url, tmp_path).run(wait=True) is ReportStatus.ACCEPTED
    uploads = [body for path, body in party.requests if path.endswith("reports")]
    assert len(uploads) == 10_000
    assert len(set(uploads)) == 1


@pytest.mark.parametrize("oracle", ["olh", "krr", "oue"])
def test_the_size_of_an_upload_says_nothing_of_the_value(tmp_path: Path, oracle: Any) -> None:
    """T13: with the same random bytes, whatever the item, one that has no code included."""
    party, sizes = FakeParty(fleet_task(oracle), enrol_until=1), set[tuple[int, int]]()
    for level in (1, 2, 3):
        publish_level(party, level)
    with serving(party) as url:
        for number, item in enumerate(("0", "77", "255", "256", "no code", "", "9" * 1_000)):
            party.distinct.clear()
            party.requests.clear()
            player = Player(party, url, tmp_path / str(number))
            player.run(lambda item=item: item, entropy=FixedEntropy(4))  # type: ignore[misc]
            sizes.add((len(party.requests), sum(len(path) + len(body) for path, body in party.requests)))
    assert len(sizes) == 1


DRINKS = ItemList(("chai", "latte", "mate"))
CATALOGUE = replace(
    fleet_task("walsh"), lengths=(0, 8), groups=(WeightedGroup(Group(1), 1),), encoding=Encoding("catalogue"),
    reports="names", item_list=DRINKS.digest,
)  # fmt: skip


def test_a_catalogue_is_fetched_and_checked_before_anything_is_drawn(tmp_path: Path) -> None:
    party, entropy = FakeParty(CATALOGUE), FixedEntropy(1)
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run(lambda: "latte", entropy=entropy) is None
        assert "does not have the task's list of items yet: run this again later" in player.told[-1]
        for wrong in (ItemList(("chai", "latte")).document, b"x", DRINKS.document[:-1]):
            party.items = wrong
            with pytest.raises(PeerViolation, match="list"):
                player.run(lambda: "latte", entropy=entropy)
        assert (entropy.total, party.received) == (0, [])
        party.items = DRINKS.document
        assert player.run(lambda: "latte", entropy=entropy) is ReportStatus.ACCEPTED
        party.items = None
        assert player.run(lambda: "mate") is ReportStatus.REPLAYED  # what was made before needs no list
    report = decoded_batch(party.received[0][1])
    assert (len(report.bodies), report.envelope.group) == (1, Group(1))


def test_a_device_waits_for_the_list_and_gives_up_when_the_task_is_over(tmp_path: Path) -> None:
    party = FakeParty(CATALOGUE, closed=True)
    with serving(party) as url, pytest.raises(QuestionRefused, match="expected open, found closed"):
        Player(party, url, tmp_path).run(wait=True)


def test_only_a_catalogue_is_fetched(tmp_path: Path) -> None:
    words = replace(CATALOGUE, lengths=(0, 24), encoding=Encoding("hashed", "mine", "casefold"))
    party = FakeParty(words, items=DRINKS.document)
    with serving(party) as url:
        assert Player(party, url, tmp_path).run(lambda: "LATTE") is ReportStatus.ACCEPTED
    assert not [path for path, _ in party.requests if path.endswith("items")]


def refusals(task: DeviceTask, **options: Any) -> dict[str, Any]:
    return {"task": task, **options}


@pytest.mark.parametrize(("given", "error"), [
    (refusals(replace(fleet_task(), deadlines=Deadlines(0, 1, 2))), QuestionRefused),
    (refusals(replace(fleet_task(), deadlines=Deadlines(9_999_999_999))), QuestionRefused),
    (refusals(replace(fleet_task("krr"), deadlines=Deadlines(0, 1))), QuestionRefused),
    (refusals(replace(fleet_task(), parties=("south",))), QuestionRefused),
    (refusals(fleet_task(), caps=Caps(Fraction(1, 2))), BudgetExceeded),
    (refusals(fleet_task(), caps=Caps(Fraction(4), Fraction(1, 2))), BudgetExceeded),
    (refusals(fleet_task(), caps=Caps(attribute="weight")), QuestionRefused),
    (refusals(fleet_task("krr"), caps=Caps(attribute="weight")), QuestionRefused),
    (refusals(fleet_task("krr"), caps=Caps(least_slots=6)), QuestionRefused),
    (refusals(replace(fleet_task("oue"), lengths=(0, 1, 4, 8))), QuestionRefused),
    (refusals(replace(fleet_task(), encoding=Encoding("runes"))), UnknownName),
    (refusals(replace(fleet_task("krr"), encoding=Encoding("text"), lengths=(0, 2, 4, 9))), InvalidInput),
])  # fmt: skip
def test_refusals_come_before_the_value_is_read(tmp_path: Path, given: dict[str, Any], error: type[Exception]) -> None:
    """T13: the same refusal for every value, since none is read, nothing is drawn and nothing is sent."""
    task = given.pop("task")
    party, read, entropy = FakeParty(task), list[str](), FixedEntropy(1)
    with serving(party) as url, pytest.raises(error):
        Player(party, url, tmp_path).run(lambda: read.append("it") or "77", entropy=entropy, **given)  # type: ignore[func-returns-value]
    assert read == []
    assert entropy.total == 0
    others = [path for path, _ in party.requests if not path.endswith(task.digest.hex())]
    assert [path.rpartition("/")[2] for path in others] == ["refusals"] * (error is BudgetExceeded)


def test_rounds_go_on_from_run_to_run(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"))
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run() is None
        assert "Enrolment has not closed" in player.told[-1]
        party.enrol_until = 1
        assert player.run() is None
        assert "not published yet" in player.told[-1]
        for level in (1, 2, 3):
            publish_level(party, level)
        assert player.run() is ReportStatus.ACCEPTED
    assert sum(path.endswith("enrolments") for path, _ in party.requests) == 1
    assert player.slept == []


def test_rounds_wait_where_asked_to(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("oue"), enrol_until=1)
    with serving(party) as url:
        player = Player(party, url, tmp_path)

        def sleep(seconds: float) -> None:
            for level in (1, 2, 3):
                publish_level(party, level)

        player.slept = type("Sleeping", (list,), {"append": staticmethod(sleep)})()
        assert player.run(wait=True) is ReportStatus.ACCEPTED


def test_a_closed_task_is_not_waited_for(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"), closed=True)
    with serving(party) as url, pytest.raises(QuestionRefused, match="closed"):
        Player(party, url, tmp_path).run(wait=True)


def test_a_refused_report_is_said_to_be_refused(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    party.verdict = lambda group: ReportStatus.TOO_LATE
    with serving(party) as url, pytest.raises(ReportRefused, match="too_late"):
        Player(party, url, tmp_path).run()


def test_a_delay_is_drawn_before_the_value_is_read(tmp_path: Path) -> None:
    party, order = FakeParty(fleet_task()), list[str]()
    with serving(party) as url:
        for number in range(20):
            party.distinct.clear()
            player = Player(party, url, tmp_path / str(number))
            sleeping = type("Sleeping", (list,), {"append": lambda self, seconds: order.append(seconds)})()
            player.slept = sleeping
            player.run(lambda: order.append("read") or "77", max_delay=60)  # type: ignore[func-returns-value]
    delays = [each for each in order if each != "read"]
    assert order == [each for delay in delays for each in (delay, "read")]
    assert len(set(delays)) > 10
    assert all(0 <= float(delay) <= 60 for delay in delays)


CANARY = "canary-in-the-mine"


@pytest.mark.parametrize("encoding", ["ids", "words", "text", "hashed"])
def test_the_item_is_shown_nowhere(tmp_path: Path, encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = "public" if encoding == "hashed" else ""
    party = FakeParty(replace(fleet_task(), encoding=Encoding(encoding, key), lengths=(0, 2, 4, 48)))
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run(lambda: CANARY) is ReportStatus.ACCEPTED
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    shown = "".join(player.told) + "".join(capsys.readouterr()) + kept.decode("latin-1")
    assert CANARY not in shown
    assert CANARY[:6].encode().hex() not in shown


def test_an_item_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    def broken() -> str:
        raise OSError(CANARY)

    party = FakeParty(fleet_task())
    with serving(party) as url, pytest.raises(ValueUnavailable) as failed:
        Player(party, url, tmp_path).run(broken)
    assert CANARY not in str(failed.value)
    assert isinstance(failed.value, TreetopError)


def test_a_cut_off_history_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    state = DeviceState(tmp_path)
    state.note(bytes(32), "fruit", "enrolled", "accepted")
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(b'{"time": 1, "ta')
    assert state.enrolled(bytes(32))
    assert not state.enrolled(b"o" * 32)
    assert len(state.events()) == 1
    state.close()


def test_an_old_ledger_put_back_is_refused(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        Player(party, url, tmp_path).run()
        (tmp_path / "ledger").unlink()
        for _ in range(2):
            with pytest.raises(LedgerRefused, match="counter"):
                Player(party, url, tmp_path).run()
    assert len(party.received) == 1


def weekly_party(weeks: int = 2) -> FakeParty:
    """A party in the first week of a campaign."""
    opened = Campaign(template_of(replace(fleet_task(), name="weekly")), int(time.time()) - 100, weeks=weeks)
    ends = opened.ends(0, 0)
    week = replace(
        fleet_task(), name=opened.task_name(0, 0), campaign=opened.week(0, 0),
        deadlines=Deadlines(opened.opens(0, 0), ends, ends),
    )  # fmt: skip
    return FakeParty(week, campaign=opened)


def test_a_device_answers_in_its_own_week_and_tells_a_code_in_another(tmp_path: Path) -> None:
    party, seen = weekly_party(), set[object]()
    with serving(party) as url:
        for number in range(20):
            party.requests.clear()
            party.distinct.clear()
            player = Player(party, url, tmp_path / str(number))
            read: list[str] = []
            verdict = player.run(lambda read=read: read.append("it") or "77")  # type: ignore[misc]
            told = [decoded_refusals(body)[0][1] for path, body in party.requests if path.endswith("refusals")]
            assert (told, len(read)) == (([], 1) if verdict else ([Refusal.NOT_MY_WEEK], 0))
            assert player.run() is (ReportStatus.REPLAYED if verdict else None)
            assert len([path for path, _ in party.requests if path.endswith("refusals")]) == len(told)
            seen.add(verdict)
    assert seen == {ReportStatus.ACCEPTED, None}


def test_a_campaign_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    party = weekly_party()
    campaign, party.campaign = party.campaign, None
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run() is None
        assert "does not have the task's campaign yet" in player.told[-1]
        assert not (tmp_path / "ledger").exists()
        party.closed = True
        with pytest.raises(QuestionRefused, match="state of the task"):
            player.run()
        party.closed, party.campaign = False, replace(campaign, weeks=3)  # type: ignore[type-var]
        with refused("document_other", PeerViolation, what="campaign of the task"):
            player.run()
    assert not (tmp_path / "ledger").exists()


def test_a_week_is_paid_for_once_the_list_of_its_task_is_there(tmp_path: Path) -> None:
    opened = Campaign(template_of(replace(CATALOGUE, name="weekly")), int(time.time()) - 100, weeks=2)
    ends = opened.ends(0, 0)
    week = replace(
        CATALOGUE, name=opened.task_name(0, 0), campaign=opened.week(0, 0),
        deadlines=Deadlines(opened.opens(0, 0), ends, ends),
    )  # fmt: skip
    party, entropy = FakeParty(week, campaign=opened), FixedEntropy(1)
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        assert player.run(lambda: "latte", entropy=entropy) is None
        party.items = ItemList(("chai",)).document
        with pytest.raises(PeerViolation, match="list"):
            player.run(lambda: "latte", entropy=entropy)
        assert not (tmp_path / "ledger").exists()
        assert entropy.total == 0
        party.items = DRINKS.document
        player.run(lambda: "latte", entropy=entropy)
    assert (tmp_path / "ledger").exists()


def test_a_forged_ticket_is_noticed_before_anything_is_spent(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    party.fault = lambda path, body: (200, b'{"verdicts":["ticket_forged"]}', {}) if "ticket-checks" in path else None
    with serving(party) as url:
        with pytest.raises(ReportRefused, match="nothing was spent, found ticket_forged"):
            Player(party, url, tmp_path).run()
        assert not (tmp_path / "ledger").exists()
        party.fault = lambda path, body: (404, b"", {}) if "ticket-checks" in path else None
        with pytest.raises(PeerViolation):
            Player(party, url, tmp_path).run()
        assert not (tmp_path / "ledger").exists()


def test_a_spent_budget_is_told_once_and_a_party_that_does_not_listen_changes_nothing(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    caps = Caps(Fraction(4), Fraction(1, 2))
    with serving(party) as url:
        player = Player(party, url, tmp_path)
        party.fault = lambda path, body: (500, b"", {}) if "refusals" in path else None
        for _ in range(2):
            with refused("budget_lifetime", BudgetExceeded, found="1"):
                player.run(caps=caps)
            party.fault = lambda path, body: None
        with refused("budget_lifetime", BudgetExceeded, found="1"):
            player.run(caps=caps)
    told = [decoded_refusals(body)[0][1] for path, body in party.requests if path.endswith("refusals")]
    assert set(told) == {Refusal.BUDGET_LIFETIME}
    state = DeviceState(tmp_path)
    assert [(event.deed, event.verdict) for event in state.events()] == [("refused", "budget_lifetime")]
    state.close()
