"""T6: what a party uploads is what honest reports could give, or the party is named and nothing of it is used."""

import json
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.federations import Federation, crowd, order

from treetop.adapters.memory.ports import MemoryChannel
from treetop.errors import QueryFailed
from treetop.federation.server.party_poller import MissingPolicy
from treetop.mechanisms.panorama.discovery import ConspicuousCodes
from treetop.trie.quantised_counts import QuantisedCounts

CODES = crowd({"a": 400, "b": 350, "c": 300})
KINDS = [("taps", "one-shot"), ("taps", "rounds"), ("canopy", "one-shot"), ("gtf", "rounds"), ("panorama", "one-shot")]
Path = tuple[Any, ...]


class LyingChannel(MemoryChannel):
    """Changes one outcome on its way to the server."""

    number = 0
    changed: Callable[[bytes], bytes] = staticmethod(lambda data: data)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        data = super().outcome(task, number)
        return data if data is None or number != self.number else self.changed(data)


def federation(kind: tuple[str, str], policy: str = "proceed") -> Federation:
    asked = Federation.of(order(*kind, "abc", epsilon="4"), CODES, policy=MissingPolicy(policy, 5.0))  # type: ignore[arg-type]
    asked.channels = {name: LyingChannel(name, party) for name, party in asked.parties.items()}
    return asked


@cache
def outcomes(kind: tuple[str, str]) -> list[bytes]:
    """What party a really says, message by message."""
    asked = federation(kind)
    asked.query().run()
    entries = asked.parties["a"].journal.read(f"party:a:{asked.task.digest.hex()}")
    return [entries[f"outcome:{number}"] for number in range(1, 1 + sum("outcome" in entry for entry in entries))]


@cache
def without_the_liar(kind: tuple[str, str], number: int) -> bytes:
    """The answer if the party falls silent at that message instead."""
    asked = federation(kind)
    lying(asked, number, lambda _: b"{}")
    return stripped(asked.query().run().document)


def stripped(document: bytes) -> bytes:
    """The answer without the words for why a party is missing."""
    content = json.loads(document)
    for missing in content["missing"]:
        del missing["reason"]
    content["notes"] = [
        note for note in content["notes"] if note["parameters"].get("party") != "a"
    ]  # a lie may also be flagged
    return json.dumps(content).encode()


def lying(asked: Federation, number: int, changed: Callable[[bytes], bytes]) -> None:
    channel = asked.channels["a"]
    channel.number, channel.changed = number, changed


def paths(content: Any, before: Path = ()) -> list[Path]:
    """All places of a JSON value."""
    below = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [before, *(path for key, value in below for path in paths(value, (*before, key)))]


def replaced(content: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    copy = content.copy()
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


def at(content: Any, path: Path) -> Any:
    return at(content[path[0]], path[1:]) if path else content


WRONG: list[Any] = [
    None,
    True,
    -1,
    1 << 63,
    1 << 200,
    0.5,
    -7.25,
    1e308,
    "",
    "x",
    "ff" * 40,
    [],
    {},
    [[]],
    {"kind": "done"},
]


@st.composite
def lies(draw: st.DrawFn) -> tuple[tuple[str, str], int, bytes]:
    """An honest outcome with one place changed: another kind of value, something twice, something more or less."""
    kind = draw(st.sampled_from(KINDS))
    number = draw(st.integers(1, len(outcomes(kind))))
    content = json.loads(outcomes(kind)[number - 1])
    path = draw(st.sampled_from(paths(content)))
    value = at(content, path)
    ways = [draw(st.sampled_from(WRONG)), draw(st.integers()), draw(st.floats(allow_nan=False, allow_infinity=False))]
    if isinstance(value, list) and value:
        ways += [[*value, value[0]], value[1:]]
    if isinstance(value, dict):
        ways += [{**value, "more": 1}, dict(list(value.items())[1:])]
    return kind, number, json.dumps(replaced(content, path, draw(st.sampled_from(ways)))).encode()


@given(lies())
@settings(max_examples=120, deadline=None)
def test_a_lie_is_refused_by_name_or_could_have_been_true(lie: tuple[tuple[str, str], int, bytes]) -> None:
    kind, number, data = lie
    asked = federation(kind)
    lying(asked, number, lambda _: data)
    document = asked.query().run().document
    content = json.loads(document)
    assert {entry["name"] for entry in content["missing"]} <= {"a"}
    if content["missing"] and "withdrew" not in content["missing"][0]["reason"]:
        later = range(number, len(outcomes(kind)) + 1)  # a lie may show in a later message only
        assert stripped(document) in {without_the_liar(kind, silent_from) for silent_from in later}
    for item in content["items"]:
        assert abs(item["frequency"]) < 4


def changed_upload(kind: tuple[str, str], number: int, change: Callable[[Any], None]) -> Federation:
    content = json.loads(outcomes(kind)[number - 1])
    change(content["content"])
    asked = federation(kind, "wait")
    lying(asked, number, lambda _: json.dumps(content).encode())
    return asked


def _set(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value(content[path[-1]]) if callable(value) else value

    return change


COUNTED = ("upload", "counted")
ONE_SHOT, CANOPY, PANORAMA = ("taps", "one-shot"), ("canopy", "one-shot"), ("panorama", "one-shot")


def one_name(name: int, steps: int) -> str:
    found = ConspicuousCodes(np.array([name], dtype=np.uint64), np.array([steps]), 1 << 8)
    return b64encode(found.to_bytes()).decode()


def many_steps(packed: str) -> str:
    """As many counts as there were, the first of them beyond what all reports could give."""
    values = QuantisedCounts(np.array([10_000, *[0] * (asked_names() - 1)]), 1.0)
    assert packed != ""
    return b64encode(values.to_bytes()).decode()


def asked_names() -> int:
    """How many names the server asked party a about."""
    asked = federation(PANORAMA)
    asked.query().run()
    entries = asked.parties["a"].journal.read(f"party:a:{asked.task.digest.hex()}")
    return len(json.loads(entries["message:3"])["content"]["message"]["names"])


@pytest.mark.parametrize(
    ("kind", "number", "change", "message"),
    [
        (ONE_SHOT, 1, _set("devices", value=401), "devices: expected from 0 to 400"),
        (ONE_SHOT, 1, _set("tickets", value=1 << 63), "tickets: expected from 0"),
        (ONE_SHOT, 1, _set("groups", 0, 2, value=lambda count: count + 1), "devices of all groups"),
        (ONE_SHOT, 1, _set("groups", 0, 0, value=9), "level: expected from 1 to 4"),
        (ONE_SHOT, 1, _set("groups", value=lambda rows: [*rows[1:], rows[1]]), "one of the task, named once"),
        (ONE_SHOT, 1, _set("digest", value="zz"), "digest: expected hexadecimal digits"),
        (ONE_SHOT, 2, _set("upload", "reports", value=lambda reports: reports + 1), "reports: expected from 0 to"),
        (ONE_SHOT, 2, _set("upload", "support", 0, value=1 << 63), "support: expected from 0 to"),
        (ONE_SHOT, 2, _set("upload", "support", 0, value=-1), "support: expected from 0 to"),
        (ONE_SHOT, 2, _set("upload", "support", 0, value=0), "more than noise gives"),
        (ONE_SHOT, 2, _set("upload", "support", 0, value=1.5), "a whole number, found float"),
        (ONE_SHOT, 2, _set("upload", "prefixes", 0, value="4"), "prefixes: expected of 2 bits"),
        (ONE_SHOT, 2, _set("upload", "prefixes", 0, value="0x1"), "without needless ones"),
        (ONE_SHOT, 2, _set("upload", "prefixes", value=lambda names: [names[0]] * len(names)), "distinct"),
        (ONE_SHOT, 2, _set("upload", "domain", value=1), "slots of a domain: expected from 2 to 5"),
        (ONE_SHOT, 2, _set("notes", value=["x"]), "note"),
        (ONE_SHOT, 2, _set("notes", value=[{"code": "rows_added_up", "parameters": {"rows": 1}}]), "code of a note"),
        (ONE_SHOT, 2, _set("notes", value=[{"code": "names_left_out", "parameters": {}}]), "parameters of names"),
        (ONE_SHOT, 2, _set("notes", value=[{"code": "names_left_out", "parameters": {"least": "x"}}]), "least"),
        (ONE_SHOT, 3, _set("upload", "pruning", "1", value={}), "fields of pruning lists"),
        (ONE_SHOT, 3, _set("upload", "pruning", "2", "infrequent", value=lambda names: names * 2), "from 1 to 6"),
        (ONE_SHOT, 3, _set("upload", "pruning", "2", "infrequent", value=lambda _: []), "from 1 to 6, found 0"),
        (ONE_SHOT, 3, _set("upload", "pruning", "2", "frequencies", 0, value=1e9), "frequencies: expected from"),
        (ONE_SHOT, 3, _set(*COUNTED, "support", value=lambda support: support[1:]), "number of support"),
        (("gtf", "rounds"), 6, _set(*COUNTED, "domain", value=lambda slots: slots + 1), "slots of a domain"),
        (CANOPY, 2, _set("upload", "values", 0, value=1 << 33), "values: expected from 0 to"),
        (CANOPY, 2, _set("upload", "values", 0, value=-1), "values: expected from 0 to"),
        (CANOPY, 2, _set("upload", "values", value=lambda values: values[1:]), "number of values"),
        (CANOPY, 2, _set("upload", "deviation", value=1e-300), "deviation: expected from"),
        (CANOPY, 2, _set("upload", "deviation", value=lambda s: s / 2), "32 bits|explain a deviation"),
        (CANOPY, 2, _set("upload", "deviation", value=None), "number of values: expected from 0 to 0"),
        (CANOPY, 4, _set(*COUNTED, "prefixes", 0, value="1"), "those that were asked for"),
        (CANOPY, 4, _set(*COUNTED, "domain", value=3), "slots of a domain"),
        (PANORAMA, 2, _set("upload", "kinds", 0, value=401), "reports: expected from 0 to 400"),
        (PANORAMA, 2, _set("upload", "kinds", value=[400, 0]), "number of kinds: expected from 1 to 1"),
        (PANORAMA, 2, _set("upload", "kinds", 0, value=0), "number of other names: expected from 0 to 0"),
        (PANORAMA, 2, _set("upload", "listed", value="AA=="), "counts: expected 0 characters at most"),
        (PANORAMA, 2, _set("upload", "others", 0, value=lambda number: number + 1), "packed names"),
        (PANORAMA, 2, _set("upload", "others", 0, value=256), "number of other names: expected from 0 to 255"),
        (PANORAMA, 2, _set("upload", "others", 1, value="???="), "other names: expected Base64"),
        (PANORAMA, 2, _set("upload", "others", 1, value="AB=="), "Base64 without needless bits"),
        (PANORAMA, 2, _set("upload", "others", value=[1, one_name(255, 0)]), "none that are counted anyway"),
        (PANORAMA, 2, _set("upload", "others", value=[1, one_name(77, 9_999)]), "steps above tau: expected"),
        (PANORAMA, 3, _set("upload", "counts", value=lambda counts: counts[:-4]), "packed counts"),
        (PANORAMA, 3, _set("upload", "counts", value=many_steps), "counts: expected .* steps at most"),
        (PANORAMA, 4, _set("upload", "support", 0, value=401), "support: expected from 0 to 400"),
        (PANORAMA, 4, _set("upload", "support", value=lambda support: support[1:]), "number of support"),
        (PANORAMA, 4, _set("upload", "outside", value=401), "support: expected from 0 to 400"),
    ],
)  # fmt: skip
def test_what_no_honest_party_says_is_refused(
    kind: tuple[str, str], number: int, change: Callable[[Any], None], message: str
) -> None:
    with pytest.raises(QueryFailed, match=f"party 'a' broke the protocol: .*({message})"):
        changed_upload(kind, number, change).query().run()


def test_k_rr_cannot_name_more_supporters_than_reports() -> None:
    kind, number = ("gtf", "rounds"), 6

    def inflate(content: Any) -> None:
        counted = content["upload"]["counted"]
        counted["support"] = [counted["reports"]] * len(counted["support"])

    with pytest.raises(QueryFailed, match="support: expected .* reports in all"):
        changed_upload(kind, number, inflate).query().run()


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[", b'{"kind":"done"}', b'{"kind":"done","content":NaN}', b"\xff", b"[" * 9999]
)
def test_what_is_no_outcome_is_refused(data: bytes) -> None:
    asked = federation(ONE_SHOT, "wait")
    lying(asked, 2, lambda _: data)
    with pytest.raises(QueryFailed, match="party 'a' broke the protocol"):
        asked.query().run()
