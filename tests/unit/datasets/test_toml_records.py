from dataclasses import dataclass, field
from pathlib import Path

import pytest

from treetop.datasets.toml_records import read_record, record_from_text
from treetop.errors import InvalidInput


@dataclass(frozen=True)
class Inner:
    name: str
    size: float | str = 1.0


@dataclass(frozen=True)
class Outer:
    title: str
    inner: tuple[Inner, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    one: Inner | None = None
    flag: bool = False


def test_tables_become_values() -> None:
    text = 'title = "a"\ncounts = { x = 3 }\nflag = true\none = { name = "n" }\n[[inner]]\nname = "b"\nsize = 2\n'
    assert record_from_text(text, Outer, "here") == Outer("a", (Inner("b", 2.0),), {"x": 3}, Inner("n"), True)


def test_a_value_of_either_kind_will_do() -> None:
    assert record_from_text('name = "b"\nsize = "> 2"', Inner, "here").size == "> 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title = "a"\ntitel = "b"', "unknown here: key 'titel'.*did you mean 'title'"),
        ("flag = true", "here: expected the key 'title', found none"),
        ("title = 3", "here: title: expected str, found 3"),
        ('title = "a"\nflag = 1', "here: flag: expected bool, found 1"),
        ('title = "a"\ninner = 3', "here: inner: expected a list, found 3"),
        ('title = "a"\ninner = [3]', r"here: inner\[0\]: expected a table, found 3"),
        ('title = "a"\ncounts = 3', "here: counts: expected a table, found 3"),
        ('title = "a"\ncounts = { x = "y" }', "here: counts.x: expected int, found 'y'"),
        ("title =", "here: does not read as TOML"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        record_from_text(text, Outer, "here")


def test_a_file_must_be_there_and_be_text(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text('name = "b"')
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert read_record(tmp_path / "good.toml", Inner) == Inner("b")
    for name in ("bad.toml", "none.toml"):
        with pytest.raises(InvalidInput, match="expected a TOML file"):
            read_record(tmp_path / name, Inner)
