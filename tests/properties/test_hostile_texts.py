"""Every text of every message, task, order and answer: refused where it enters, or shown escaped; nothing fails.

The places are found in the tables and shapes themselves, so a new field is tested without being named here.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.support.answers import DEPLOYED
from tests.support.federations import Federation, FixedSigner, crowd, naming, order
from tests.support.hostile_texts import BEYOND_THE_BMP, HIDDEN, MARKUP, text_places, with_text
from tests.support.http_answers import Answer as Reply
from tests.support.http_answers import answer_of, is_problem
from tests.support.parties import NAME, SERVER_KEY, SIGNING, Hosted, live, served
from tests.support.parties import task as party_task
from tests.support.servers import ADMIN_KEY, ORDER, HostedServer, channels, wanted

from treetop.adapters.memory.ports import MemoryChannel
from treetop.answers.answer import Answer
from treetop.answers.json_form import ANSWER, SHAPES
from treetop.cli.rendering import present
from treetop.errors import InvalidInput, PeerViolation, QueryFailed
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.documents import DocumentRefused, canonical_json
from treetop.federation.protocol import MESSAGES, REPLIES, PartyReply, ServerMessage
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Beacon, checked_task, signed
from treetop.public_text import first_hidden
from treetop.services.server.app import server_app
from treetop.services.server.schemas import OrderWanted

CODES = crowd({"a": 400, "b": 350, "c": 300})
KINDS = [("taps", "one-shot"), ("taps", "rounds"), ("canopy", "one-shot"), ("gtf", "rounds"), ("panorama", "one-shot")]
Capture = pytest.CaptureFixture[str]
LEVEL_REPORT: dict[str, Any] = {"traces": [], "notes": [], "groups": [], "implausible": 0}


def federation(kind: tuple[str, str], policy: str = "proceed") -> Federation:
    return Federation.of(order(*kind, "abc", epsilon="4"), CODES, policy=MissingPolicy(policy, 5.0))  # type: ignore[arg-type]


@cache
def said(kind: tuple[str, str]) -> dict[str, bytes]:
    """All messages and outcomes of party a."""
    asked = federation(kind)
    asked.query().run()
    return dict(asked.parties["a"].journal.read(f"party:a:{asked.task.digest.hex()}"))


@cache
def letters(entry: str) -> tuple[Any, ...]:
    """What honest servers or parties say, of every kind that the protocol has."""
    found = [json.loads(said(kind)[name]) for kind in KINDS for name in said(kind) if name.startswith(entry)]
    if entry == "outcome":
        found += [
            {
                "kind": "withdrawn",
                "content": {
                    "reason": "closed",
                    **LEVEL_REPORT,
                    "notes": [{"code": "names_left_out", "parameters": {"least": 5}}],
                },
            }
        ]
    assert {letter["kind"] for letter in found} == set(REPLIES if entry == "outcome" else MESSAGES)
    return tuple(found)


def hostile(letter: Any) -> Iterator[bytes]:
    """The letter with a hostile text at every place of a text, and instead of every part."""
    parts = REPLIES.get(letter["kind"]) or MESSAGES[letter["kind"]]
    places = {*text_places(letter), *(("content", part) for part in parts.parts)}
    for place in places:
        for text in HIDDEN:
            yield json.dumps(with_text(letter, place, text)).encode()
            if not any("\ud800" <= character <= "\udfff" for character in text):
                yield json.dumps(with_text(letter, place, text), ensure_ascii=False).encode()


@pytest.mark.parametrize("entry", ["message", "outcome"])
def test_no_message_with_a_hidden_character_is_read(entry: str) -> None:
    read: Any = PartyReply if entry == "outcome" else ServerMessage
    for letter in letters(entry):
        read.from_bytes(json.dumps(letter).encode())
        for changed in hostile(letter):
            with pytest.raises(PeerViolation) as refused:
                read.from_bytes(changed)
            assert first_hidden(str(refused.value)) is None
            assert len(str(refused.value)) < 1000


class HostileChannel(MemoryChannel):
    """Answers a message with something of its own."""

    number, answer = 0, b""

    def outcome(self, task: bytes, number: int) -> bytes | None:
        return self.answer if number == self.number else super().outcome(task, number)


@pytest.mark.parametrize("text", [HIDDEN[0], HIDDEN[3]])
@pytest.mark.parametrize("kind", sorted(REPLIES))
def test_a_party_that_sends_one_is_left_out_by_name(kind: str, text: str) -> None:
    """In whatever reply the text is, the server goes on without the party, or says that it cannot."""
    mode = KINDS[1] if kind == "list" else KINDS[0]
    letter = next(each for each in letters("outcome") if each["kind"] == kind)
    for policy in ("proceed", "wait"):
        asked = federation(mode, policy)
        channel = HostileChannel("a", asked.parties["a"])
        place = ("kind",) if kind == "done" else ("content", next(iter(letter["content"])))
        channel.number, channel.answer = 1 if kind == "closed" else 2, canonical_json(with_text(letter, place, text))
        asked.channels["a"] = channel
        if policy == "wait":
            with pytest.raises(QueryFailed, match="party 'a' broke the protocol") as failure:
                asked.query().run()
            assert first_hidden(str(failure.value)) is None
            continue
        document = asked.query().run().document
        assert json.loads(document)["missing"][0]["name"] == "a"
        assert first_hidden(json.loads(document)) is None


def test_texts_that_reports_spell_are_shown_escaped(capsys: Capture) -> None:
    """Whatever users hold may be recovered: it reaches the answer as it is, and the screen as escapes."""
    told, settings = "ab\x1b", {"bits": 16, "text_chunks": 6, "text_share": 0.7}
    asked = naming({"a": {told: 4000, "chai": 1500}}, epsilon="8", k=2, settings=settings)
    content = json.loads(asked.query().run().document)
    assert (content["items"][0]["item"], content["items"][0]["source"]) == (told, "recovered")
    present(Answer.from_json(content), False)
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert r"ab\x1b" in shown.out


def ask(port: int, method: str, path: str, content: Any = None, key: str = ADMIN_KEY) -> Reply:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = content if isinstance(content, bytes) else None if content is None else json.dumps(content).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    answer = answer_of(connection)
    connection.close()
    return answer


def finished(hosted: HostedServer, task: str) -> None:
    end = time.monotonic() + 60
    while hosted.queries.state(task).state == "running":
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("policy", ["wait", "proceed"])
@pytest.mark.parametrize("kind", ["\ud800", "withdrawn"])
def test_one_party_does_not_break_everybodys_list(kind: str, policy: str) -> None:
    parties = channels()
    north = HostileChannel("north", parties["north"]._party)
    reason = {"reason": "\ud800\x1b[2J", **LEVEL_REPORT}
    north.number, north.answer = 2, canonical_json({"kind": kind, "content": reason})
    hosted = HostedServer({**parties, "north": north})
    task = hosted.queries.take(wanted(policy=policy)).task
    finished(hosted, task)
    with served(server_app(hosted.context)) as port:
        listed = ask(port, "GET", "/v1/queries")
        assert listed.status == 200
        assert first_hidden(listed.json) is None
        assert listed.json["queries"][0]["state"] == ("failed" if policy == "wait" else "answered")
        assert ask(port, "GET", f"/v1/queries/{task}").status == 200
        result = ask(port, "GET", f"/v1/queries/{task}/result")
        assert result.status == (404 if policy == "wait" else 200)
        assert first_hidden(result.json) is None
    assert all(first_hidden(json.loads(line)) is None for line in hosted.log.getvalue().splitlines())


def order_places(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every field of an order that holds text, with a function that puts one there."""
    for name, given in schema["properties"].items():
        (field,) = [kind for kind in given.get("anyOf", [given]) if kind.get("type") != "null"]
        if field.get("type") == "string":
            yield name, lambda text: text
        elif field.get("type") == "array":
            yield name, lambda text: [text]
        elif field.get("type") == "object":
            kind = field["additionalProperties"]["type"]
            yield f"{name} (key)", lambda text, kind=kind: {text: 1 if kind == "integer" else "1"}
            if kind == "string":
                yield f"{name} (value)", lambda text: {**ORDER["settings"], "hash_key": text}
        elif "$ref" in field:
            parts = schema["$defs"][field["$ref"].rpartition("/")[2]]["properties"].values()
            assert {part["type"] for part in parts} <= {"integer", "number"}, (name, field)
        else:
            assert field.get("type") in {"integer", "boolean"}, (name, field)


def test_no_order_with_a_hidden_character_is_taken() -> None:
    hosted = HostedServer()
    places = list(order_places(OrderWanted.model_json_schema()))
    names = {
        "name",
        "attribute",
        "epsilon",
        "mechanism",
        "mode",
        "oracle",
        "encoding",
        "strategy",
        "settings (key)",
        "parties",
    }
    assert names | {"settings (key)", "settings (value)", "expected (key)", "policy"} <= {name for name, _ in places}
    with served(server_app(hosted.context)) as port:
        for name, made in places:
            for text in HIDDEN:
                answer = ask(port, "POST", "/v1/queries", {**ORDER, name.split(" ")[0]: made(text)})
                assert 400 <= answer.status < 500, (name, text, answer)
                assert first_hidden(answer.json) is None, (name, text)
        for text in HIDDEN:
            answer = ask(port, "POST", "/v1/queries", {**ORDER, text: 1})
            assert answer.status == 422
            assert first_hidden(answer.json) is None
        assert ask(port, "GET", "/v1/queries").json == {"queries": []}
        assert not hosted.journal.read("orders")
        for text in (*MARKUP, *BEYOND_THE_BMP):
            task = ask(port, "POST", "/v1/queries", {**ORDER, "name": text, "attribute": text}).json["task"]
            finished(hosted, task)
            assert ask(port, "GET", f"/v1/queries/{task}").json["name"] == text
            assert ask(port, "GET", f"/v1/queries/{task}/result").json["name"] == text


def test_decisions_that_were_journaled_are_shown_escaped() -> None:
    asked = federation(KINDS[0])
    asked.channels["a"].reachable = False
    asked.query().run()
    for entry in list(asked.journal.kept[f"server:{asked.task.digest.hex()}"]):
        if entry in {"result", "left:a"}:
            del asked.journal.kept[f"server:{asked.task.digest.hex()}"][entry]
    asked.journal.write(f"server:{asked.task.digest.hex()}", "left:a", canonical_json("did not answer: \ud800\n"))
    missing = asked.query().run().content["missing"]
    assert missing[0]["reason"] == "did not answer: \\ud800\\n"


def task_places(task: DeviceTask) -> list[tuple[Any, ...]]:
    return [place for place in text_places(json.loads(task.canonical_bytes())) if place[-1] is not None]


def test_no_task_with_a_hidden_character_is_believed() -> None:
    """By no party and no device; none can even be made."""
    task = replace(party_task(), settings=(("bits", "8"), ("name", "x")), mechanism="canopy")
    content, refused = json.loads(task.canonical_bytes()), 0
    for place in task_places(task):
        for text in HIDDEN:
            changed = canonical_json(with_text(content, place, text))
            document = signed("task", changed, FixedSigner())
            with pytest.raises(DocumentRefused) as why:
                checked_task(document, FixedSigner())
            assert first_hidden(str(why.value)) is None
            with pytest.raises(PeerViolation):
                TrustedTask.of(document, task.digest, NAME, FixedSigner())
            refused += 1
    assert refused == len(task_places(task)) * len(HIDDEN) > 100
    with pytest.raises(InvalidInput, match="name must be without control and invisible characters"):
        replace(party_task(), name="fruit\n\u202eforged")
    renamed = canonical_json({**json.loads(party_task().canonical_bytes()), "name": "fruit\n\u202eforged"})
    with live(Hosted().context) as port:
        answer = ask(port, "PUT", f"/v1/tasks/{'0' * 64}", signed("task", renamed, SIGNING), SERVER_KEY)
        assert is_problem(answer, 400)
        assert first_hidden(answer.json["detail"]) is None


def test_a_party_refuses_messages_with_hidden_characters() -> None:
    asked = federation(KINDS[1])
    asked.query().run()
    query = asked.parties["a"].query(asked.task.digest)
    for changed in (json.dumps({"kind": "close", "content": text}).encode() for text in HIDDEN):
        with pytest.raises(PeerViolation, match="expected no control or invisible characters"):
            query.tell(1, changed)


@pytest.mark.parametrize("text", HIDDEN)
def test_a_beacon_of_another_party_is_refused_in_one_line(text: str) -> None:
    task = party_task("krr")
    beacon = Beacon(task.digest, text, 1, bytes(32), bytes(32))
    document = signed("beacon", beacon.to_bytes(), FixedSigner())
    with pytest.raises(PeerViolation, match="party") as refused:
        TrustedTask(task, NAME, FixedSigner()).beacon(document)
    assert first_hidden(str(refused.value)) is None


@pytest.mark.parametrize("text", [*HIDDEN, *MARKUP, *BEYOND_THE_BMP])
def test_an_answer_with_any_text_anywhere_is_refused_or_shown(text: str, capsys: Capture) -> None:
    """The places come from the shapes of the JSON form; an analyst's screen takes whatever a server says."""
    content = json.loads(json.dumps(DEPLOYED.to_json()))
    places = [place for place in text_places(content) if place[-1] is not None]
    shapes = {Answer: ANSWER, **SHAPES}
    texts = {f"{kind.__name__}.{name}" for kind, shape in shapes.items() for name, read in shape.items() if reads(read)}
    assert texts <= {owner(place) for place in places}
    shown, refused = 0, list[str]()
    for place in places:
        try:
            answer = Answer.from_json(with_text(content, place, text))
        except PeerViolation as why:
            refused.append(str(why))
            continue
        for as_json in (True, False):
            present(answer, as_json)
            printed = capsys.readouterr()
            assert first_hidden(printed.out.split("\n")) is None
            assert first_hidden(printed.err.split("\n")) is None
            if as_json:
                assert json.loads(printed.out) == answer.to_json()
        answer.to_arrow()
        assert first_hidden(repr(answer)) is None
        shown += 1
    assert shown > 10
    assert first_hidden(refused) is None


def reads(reader: Any) -> bool:
    """Whether a reader of a shape takes any text."""
    for content in ("any text", ["any text"]):
        try:
            reader("it", content)
        except PeerViolation:
            continue
        return True
    return False


OWNERS = {
    ("items",): "AnswerItem", ("parties",): "AnswerParty", ("missing",): "MissingParty", ("privacy",): "Privacy",
    ("items", "by_party"): "PartyCount", ("campaign",): "CampaignPlace", ("campaign", "changes"): "ItemChange",
}  # fmt: skip


def owner(place: tuple[Any, ...]) -> str:
    names = [part for part in place if isinstance(part, str)]
    return f"Answer.{names[0]}" if len(names) == 1 else f"{OWNERS.get(tuple(names[:-1]), names[0])}.{names[-1]}"
