"""The JSON form of an answer, written and read strictly."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from sys import float_info
from typing import Any, get_args

from treetop.answers.parts import (
    AnswerItem,
    AnswerParty,
    CampaignPlace,
    Covered,
    ItemChange,
    MissingParty,
    OutsideShare,
    PartyCount,
    Privacy,
    Refusals,
    Truth,
)
from treetop.errors import InvalidInput, PeerViolation
from treetop.mechanisms.strict_json import decimal, record, require, rows, text, whole
from treetop.metrics.changes import Mark
from treetop.oracles.set_reports import READINGS
from treetop.privacy.epsilon import LARGEST, Epsilon
from treetop.privacy.shuffling import CentralGuarantee
from treetop.public_text import writable
from treetop.trie.global_ranking import Source
from treetop.wording import Note

SCHEMA = 1
"""Of the JSON form that docs/reference/answer_json.md describes; it changes when a key goes or changes its meaning."""
SOMETIMES = ("truth", "campaign")
"""Keys that are there only where they apply."""
MAX_NUMBER = 1 << 64
MAX_ROWS = 1 << 22
MAX_TEXT = 1 << 16

Reader = Callable[[str, Any], Any]
"""Takes the name of a value and what was found there, and refuses what it should not be."""


def _text(what: str, content: Any) -> str:
    return writable(text(what, content, MAX_TEXT))


def _whole(what: str, content: Any) -> int:
    return whole(what, content, 0, MAX_NUMBER)


def _number(what: str, content: Any) -> float:
    return decimal(what, content, -float_info.max, float_info.max)


def _positive(what: str, content: Any) -> float:
    return decimal(what, content, float_info.min, LARGEST)


def _share(what: str, content: Any) -> float:
    return decimal(what, content, float_info.min, 1 - float_info.epsilon)


def _epsilon(what: str, content: Any) -> str:
    try:
        Epsilon(found := _text(what, content))
    except InvalidInput:
        raise PeerViolation(what, "decimal digits of an epsilon", content) from None
    return found


def _one_of(*values: object) -> Reader:
    def read(what: str, content: Any) -> Any:
        holds = any(type(content) is type(value) and content == value for value in values)
        require(holds, what, f"one of {', '.join(map(str, values))}", content)
        return content

    return read


def _or_null(reader: Reader) -> Reader:
    return lambda what, content: None if content is None else reader(what, content)


def _list(reader: Reader) -> Reader:
    return lambda what, content: tuple(reader(what, entry) for entry in rows(what, content, 0, MAX_ROWS))


def _object(kind: type[Any]) -> Reader:
    """Read an object whose keys are those of the shape, and no others."""

    def read(what: str, content: Any) -> Any:
        shape = SHAPES[kind]
        found = record(what, content, set(shape))
        return kind(**{name: reader(f"{what}.{name}", found[name]) for name, reader in shape.items()})

    return read


def _note(what: str, content: Any) -> Note:
    """Read a note by its code and parameters; its text is worded again."""
    found = record(what, content, {"code", "parameters", "text"})
    _text(what, found["text"])
    try:
        return Note.from_json(_text(what, found["code"]), found["parameters"])
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise PeerViolation(what, "a note that this version knows, with its parameters", found["code"]) from None


def _written(value: Any) -> Any:
    """Return a value as JSON: what has a shape as an object with its keys, in its order."""
    if isinstance(value, tuple):
        return [_written(entry) for entry in value]
    if isinstance(value, Note):
        return value.to_json()
    shape = SHAPES.get(type(value))
    return value if shape is None else {name: _written(getattr(value, name)) for name in shape}


def written_answer(answer: object) -> dict[str, Any]:
    """Return the JSON form of an answer: its schema, its keys, and those that apply of the others."""
    content = {"schema": SCHEMA, **{name: _written(getattr(answer, name)) for name in ANSWER}}
    return {name: value for name, value in content.items() if name not in SOMETIMES or value is not None}


def read_answer(content: Any) -> dict[str, Any]:
    """Read the fields of an answer, strictly: of this schema, with every key and no other."""
    require(type(content) is dict, "answer", "an object", type(content).__name__)
    schema = content.get("schema")
    require(type(schema) is int and schema == SCHEMA, "schema of the answer", SCHEMA, schema)
    given = {name: value for name, value in content.items() if name != "schema"}
    for name in SOMETIMES:
        require(given.get(name, {}) is not None, f"answer.{name}", "an object, or no such key", None)
    found = record("answer", {**dict.fromkeys(SOMETIMES), **given}, set(ANSWER))
    return {name: reader(f"answer.{name}", found[name]) for name, reader in ANSWER.items()}


ANSWER: Mapping[str, Reader] = {
    "mechanism": _text,
    "oracle": _text,
    "encoding": _text,
    "k": _whole,
    "epsilon": _number,
    "seed": _or_null(_whole),
    "items": _list(_object(AnswerItem)),
    "parties": _list(_object(AnswerParty)),
    "notes": _list(_note),
    "choices": _list(_note),
    "missing": _list(_object(MissingParty)),
    "truth": _or_null(_object(Truth)),
    "mode": _text,
    "task": _or_null(_text),
    "name": _or_null(_text),
    "covered": _object(Covered),
    "levels": _whole,
    "privacy": _object(Privacy),
    "fakes_needed": _or_null(_whole),
    "outside": _or_null(_object(OutsideShare)),
    "items_per_user": _or_null(_whole),
    "reading": _one_of(*READINGS),
    "campaign": _or_null(_object(CampaignPlace)),
}
"""The keys of an answer in their order, and how each is read."""
SHAPES: Mapping[type, Mapping[str, Reader]] = {
    CampaignPlace: {
        "campaign": _text,
        "cycle": _whole,
        "week": _whole,
        "refusals": _object(Refusals),
        "compared_with": _or_null(_whole),
        "changes": _list(_object(ItemChange)),
    },
    Refusals: dict.fromkeys((each.name for each in fields(Refusals)), _whole),
    ItemChange: {"item": _text, "mark": _or_null(_one_of(*get_args(Mark))), "score": _or_null(_number)},
    AnswerItem: {
        "item": _text,
        "count": _number,
        "frequency": _number,
        "stderr": _number,
        "significant": _or_null(_one_of(True, False)),
        "source": _or_null(_one_of(*get_args(Source))),
        "by_party": _list(_object(PartyCount)),
    },
    PartyCount: {"party": _text, "count": _number, "stderr": _number},
    AnswerParty: {
        "name": _text,
        "users": _whole,
        "uplink_bits": _whole,
        "implausible": _whole,
        "share": _number,
        "expected": _or_null(_whole),
        "coverage": _or_null(_number),
        "central": _or_null(_object(CentralGuarantee)),
    },
    CentralGuarantee: {"epsilon": _positive, "delta": _share},
    MissingParty: {"name": _text, "reason": _text, "levels": _whole, "expected": _or_null(_whole)},
    Covered: {"users": _whole, "of": _one_of("expected", "known"), "known": _whole, "share": _or_null(_number)},
    Privacy: {"epsilon": _epsilon, "reports_per_user": _whole, "oracle": _text, "not_covered": _text},
    OutsideShare: {"share": _number, "stderr": _number, "true_share": _or_null(_number)},
    Truth: {"f1": _number, "ncr": _number},
}
"""The same of every object in one."""
