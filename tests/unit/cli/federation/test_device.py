"""`treetop device` as a person types it."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.fake_party import KEY, FakeParty, serving
from tests.support.fleets import fleet_task, publish_level
from tests.support.refusals import refused

from treetop.cli.federation import device
from treetop.cli.federation.device import item_source
from treetop.cli.main import main
from treetop.errors import InvalidInput
from treetop.oracles.set_reports import SetQuestion

Capture = pytest.CaptureFixture[str]


def typed(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["treetop", "device", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def options(party: FakeParty, url: str, state: Path) -> list[object]:
    ticket = state.parent / f"{state.name}.ticket"
    ticket.write_text(party.write_tickets(1)[0].hex() + "\n")
    return [
        "--party", url, "--task", party.task.digest.hex(), "--ticket-file", ticket, "--server-key", KEY.public,
        "--state", state, "--party-name", "north",
    ]  # fmt: skip


def test_a_device_answers_and_shows_what_it_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    party = FakeParty(fleet_task())
    (tmp_path / "item").write_text("77\n")
    monkeypatch.setenv("ITEM", "77")
    assert typed(monkeypatch, "--status", "--state", tmp_path / "state") == 0
    assert "Nothing was answered yet" in capsys.readouterr().out
    with serving(party) as url:
        words = options(party, url, tmp_path / "state")
        assert typed(monkeypatch, *words, "--item-env", "ITEM") == 0
        assert "Delivered: the party has it." in capsys.readouterr().out
        assert typed(monkeypatch, *words, "--item-file", tmp_path / "item") == 0
        assert "had it already" in capsys.readouterr().out
    assert len(party.distinct[0]) == 1
    assert typed(monkeypatch, "--status", "--state", tmp_path / "state") == 0
    shown = capsys.readouterr().out
    assert "Epsilon 1 of 8 spent in all; asked about 'favourite' only." in shown
    assert "delivered" in shown
    assert "UTC" in shown


def test_a_device_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    party = FakeParty(fleet_task("krr"), enrol_until=1)
    for level in (1, 2, 3):
        publish_level(party, level)
    with serving(party) as url:
        assert typed(monkeypatch, *options(party, url, tmp_path), "--item", "5", "--wait") == 0
    shown = capsys.readouterr().out
    assert "Enrolled." in shown
    assert f"answers at level {party.group_of(0).level}" in shown


def test_an_item_that_is_no_text_is_answered_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Nothing on the way or on the screen tells: an error after enrolment would."""
    seen = set[tuple[object, ...]]()
    for number, item in enumerate((b"77\n", b"\xff\xfe", b"", b"7" * 10_000, b"\0")):
        party = FakeParty(fleet_task("krr"), enrol_until=1)
        for level in (1, 2, 3):
            publish_level(party, level)
        (tmp_path / "item").write_bytes(item)
        with serving(party) as url:
            words = options(party, url, tmp_path / str(number))
            assert typed(monkeypatch, *words, "--item-file", tmp_path / "item") == 0
        seen.add((*((path, len(body)) for path, body in party.requests), *capsys.readouterr()))
        assert len(party.received) == 1
    assert len(seen) == 1


@pytest.mark.parametrize(("words", "said"), [
    ([], "--state is needed"),
    (["--item", "x"], "--party is needed"),
    (["--item", "x", "--item-env", "PATH"], "expected one of --item, --item-env, --item-file and --items"),
    (["--item-env", "NO_SUCH_VARIABLE"], "no environment variable"),
    (["--item-file", "/no/such/file"], "no file"),
    (["--item-file", "/"], "no file"),
    (["--item", "x", "--party", "http://party.example", "--server-key", KEY.public], "plain http"),
    (["--item", "x", "--party", "http://localhost:1", "--server-key", "abc"], "--task is needed"),
    (["--item", "x", "--party", "http://localhost:1", "--server-key", "abc", "--task", "12"], "64 hexadecimal digits"),
    (["--item", "x", "--party", "http://localhost:1", "--server-key", "abc", "--task", "00" * 32], "public key"),
    (["--item", "x", "--epsilon-cap", "much"], "caps must be decimal"),
    (["--item", "x", "--lifetime-cap", "0"], "caps must be above 0"),
    (["--item", "x", "--attribute", " \u200b"], "--attribute: expected a name that can be seen, found ' \\u200b'"),
    (["--item", "x", "--least-slots", "1"], "--least-slots"),
])  # fmt: skip
def test_what_is_missing_or_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str], said: str
) -> None:
    state = ["--state", tmp_path] if words else []
    assert typed(monkeypatch, *words, *state) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_wrong_party_name_or_ticket_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        words = options(party, url, tmp_path)
        assert typed(monkeypatch, *words[:-2], "--item", "5") == 2
        assert "--party-name is needed: the task has 2 parties" in capsys.readouterr().err
        assert typed(monkeypatch, *words[:-1], "west", "--item", "5") == 2
        assert "'west' among them" in capsys.readouterr().err
        forged = "00" * 24
        Path(str(words[5])).write_text(forged)
        assert typed(monkeypatch, *words, "--item", "5") == 2
        shown = capsys.readouterr().err
        assert "ticket_forged" in shown
        assert forged not in shown


def test_a_secret_that_others_can_read_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    party = FakeParty(fleet_task())
    (tmp_path / "item").write_text("77\n")
    with serving(party) as url:
        words = [*options(party, url, tmp_path / "state"), "--item-file", tmp_path / "item"]
        for secret in (tmp_path / "item", tmp_path / "state.ticket"):
            secret.chmod(0o644)
            assert typed(monkeypatch, *words) == 2
            assert f"chmod 600 {secret}" in capsys.readouterr().err
            secret.chmod(0o600)
        (tmp_path / "state.ticket").write_text(2 * ("00" * 24 + "\n"))
        assert typed(monkeypatch, *words) == 2
        assert "expected one ticket, found 2" in capsys.readouterr().err
    assert not any(party.distinct.values())


def test_a_fleet_prints_its_totals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    party = FakeParty(fleet_task())
    (tmp_path / "data.csv").write_text("party,item,users\nnorth,5,60\nnorth,77,40\nsouth,5,1\n")
    (tmp_path / "tickets").write_text("\n".join(ticket.hex() for ticket in party.write_tickets(100)))
    with serving(party) as url:
        words = [
            "fleet", "--party", url, "--task", party.task.digest.hex(), "--data", tmp_path / "data.csv",
            "--party-name", "north", "--tickets", tmp_path / "tickets", "--server-key", KEY.public,
            "--state", tmp_path / "state",
        ]  # fmt: skip
        assert typed(monkeypatch, *words, "--json") == 0
        written = capsys.readouterr()
        totals = json.loads(written.out)
        assert (totals["devices"], totals["verdicts"]) == (100, {"accepted": 100})
        assert json.loads(written.err.splitlines()[-1]) == {"phase": "done", "sent": 100, "of": 100, "level": None}
        assert typed(monkeypatch, *words) == 0
        assert "100 devices; reports: 100 accepted; 0 without one." in capsys.readouterr().out
        (tmp_path / "tickets").write_text("not a ticket")
        assert typed(monkeypatch, *words) == 2
        assert "tickets, line 1: expected 48 hexadecimal digits" in " ".join(capsys.readouterr().err.split())
        (tmp_path / "tickets").unlink()
        assert typed(monkeypatch, *words) == 2


SETS = replace(fleet_task(), sets=SetQuestion(3, "holders"))


@pytest.mark.parametrize("words", [("--item", "7"), ("--items", "FILE"), ("--items", "-")])
def test_a_device_answers_a_task_about_sets(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    party, file = FakeParty(SETS), tmp_path / "items"
    file.write_bytes(b"7\n9\n\n7\r\n\xff\xfe\n" + b"x" * 5000 + b"\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with serving(party) as url:
        given = [file if word == "FILE" else word for word in words]
        assert typed(monkeypatch, *options(party, url, tmp_path / "state"), *given) == 0
    assert "Delivered: the party has it." in capsys.readouterr().out
    assert len(party.distinct[0]) == 1


@pytest.mark.parametrize("content", [b"", b"7\n", b"7\n9\n"])
def test_a_device_that_holds_a_set_refuses_a_task_about_one_item_whatever_it_holds(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    party, file = FakeParty(fleet_task()), tmp_path / "items"
    file.write_bytes(content)
    with serving(party) as url:
        assert typed(monkeypatch, *options(party, url, tmp_path / "state"), "--items", file) == 2
    assert "expected sets of items, found single items" in " ".join(capsys.readouterr().err.split())
    assert not party.received


def test_the_lines_of_a_file_are_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "items"
    file.write_bytes(b"7\n\n9\r\n" + b"x" * 5000 + b"\n" + b"\xff\n" + b"last")
    read = item_source((), lines=file)
    assert read() == ["7", "9", "x" * 4097, "\udcff", "last"]
    monkeypatch.setattr(device, "LARGEST_SET", 2)
    assert read() == ["7", "9"]
    with refused("option_file_missing", InvalidInput, option="--items"):
        item_source((), lines=tmp_path / "none")
    with refused("item_option_needed", InvalidInput):
        item_source(["7"], lines=file)
    with refused("item_given_twice", InvalidInput):
        item_source(["7", "9"])
