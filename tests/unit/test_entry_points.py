import importlib.metadata
from importlib.metadata import EntryPoint

import pytest
from tests.support.refusals import refused

from treetop.encoding.item_codecs import CODECS, Ids, ItemCodec, codec_class
from treetop.entry_points import Registry
from treetop.errors import InvalidInput, UnknownName


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name


ODD = Thing("odd")
LOADED: list[object] = []


def checked(entry: object) -> Thing:
    LOADED.append(entry)
    if isinstance(entry, Thing):
        return entry
    raise InvalidInput(f"a Thing is expected, found {entry!r}")


def registry(monkeypatch: pytest.MonkeyPatch, **added: str) -> Registry[Thing]:
    """Things of Treetop's own, and those that a package declares under these names."""
    LOADED.clear()
    points = [EntryPoint(name.rstrip("_"), value, "treetop.things") for name, value in added.items()]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == "treetop.things" else [])
    return Registry("thing", {"even": Thing("even")}, "treetop.things", checked)


def test_what_a_package_adds_is_known_by_name_and_loaded_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, odd=f"{__name__}:ODD")
    assert (list(things), len(things)) == (["even", "odd"], 2)
    assert "odd" in things
    assert "none" not in things
    assert LOADED == []
    assert things["odd"] is things["odd"] is ODD
    assert LOADED == [ODD]
    assert things["even"].name == "even"
    with pytest.raises(KeyError):
        things["none"]


def test_a_name_has_one_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("entry_point_owners", InvalidInput, kind="thing", name="even", owners="treetop and theirs:EVEN"):
        list(registry(monkeypatch, even="theirs:EVEN"))
    things = registry(monkeypatch, odd="a:ODD", odd_="b:ODD")
    with refused("entry_point_owners", InvalidInput, kind="thing", name="odd", owners="a:ODD and b:ODD"):
        things["odd"]
    assert things["even"].name == "even"  # whoever asks for Treetop's own does not look for others


def test_another_kind_of_object_and_another_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="a Thing is expected, found <class"):
        registry(monkeypatch, wrong=f"{__name__}:Thing")["wrong"]
    with refused("entry_point_name", InvalidInput, name="other", kind="thing", found="odd"):
        registry(monkeypatch, other=f"{__name__}:ODD")["other"]


def test_what_cannot_be_loaded_is_refused_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="the thing 'odd' cannot be loaded from nowhere:ODD: No module named 'now"):
        registry(monkeypatch, odd="nowhere:ODD")["odd"]
    with pytest.raises(InvalidInput, match=f"cannot be loaded from {__name__}:NONE: module .* has no attribute 'NONE'"):
        registry(monkeypatch, odd=f"{__name__}:NONE")["odd"]


class Reversed(Ids):
    name = "reversed"


def test_an_encoding_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "reversed": EntryPoint("reversed", f"{__name__}:Reversed", "treetop.encodings"),
        "thing": EntryPoint("thing", f"{__name__}:ODD", "treetop.encodings"),
    }
    monkeypatch.setitem(CODECS.__dict__, "_added", found)
    monkeypatch.setattr(CODECS, "_loaded", {})
    assert issubclass(codec_class("reversed"), ItemCodec)
    with refused("encoding_entry_point", InvalidInput):
        codec_class("thing")
    with refused("unknown_name", UnknownName, kind="encoding", found="reversd", nearest="reversed"):
        codec_class("reversd")
