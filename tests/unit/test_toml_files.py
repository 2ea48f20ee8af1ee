"""TOML files are read once, strictly, and everything wrong is said at once."""

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.toml_files import FilePath, Moment, Secret, parse_toml, read_toml


@dataclass(frozen=True)
class Inner:
    number: int = 3

    def __post_init__(self) -> None:
        if self.number < 0:
            raise InvalidInput(f"number must not be negative, found {self.number}")


@dataclass(frozen=True)
class Outer:
    name: str
    secret: Secret
    place: FilePath = Path("nowhere")
    share: float = 0.5
    yes: bool = False
    since: Moment | None = None
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    words: tuple[str, ...] = ()
    either: float | str = 1.0
    counts: dict[str, int] = field(default_factory=dict)
    one: Inner | None = None
    anything: dict[str, object] = field(default_factory=dict)


def read(folder: Path, text: str, **environment: str) -> Outer:
    path = folder / "some.toml"
    path.write_text(text)
    return read_toml(path, Outer, environment)


def test_every_kind_of_value(tmp_path: Path) -> None:
    (tmp_path / "hidden").write_text("canary\n")
    (tmp_path / "hidden").chmod(0o600)
    found = read(
        tmp_path,
        'name = "n"\nsecret_file = "hidden"\nplace = "a/b"\nshare = 1\nyes = true\nsince = 2026-01-02\n'
        'words = ["x", "y"]\neither = "> 2"\ncounts = { x = 3 }\nanything = { a = 1, b = "c", d = [true] }\n'
        "[inner]\nnumber = 4\n[[many]]\n[[many]]\nnumber = 5\n[one]\nnumber = 6\n",
    )
    assert found == Outer(
        "n", Secret(b"canary"), tmp_path / "a/b", 1, True, datetime(2026, 1, 2, tzinfo=UTC), Inner(4),
        (Inner(3), Inner(5)), ("x", "y"), "> 2", {"x": 3}, Inner(6), {"a": 1, "b": "c", "d": [True]},
    )  # fmt: skip
    assert type(found.share) is float


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05+01:00", datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)),
    ],
)
def test_moments_are_of_a_known_time_zone(tmp_path: Path, text: str, moment: datetime) -> None:
    assert read(tmp_path, f'name = "n"\nsecret_env = "A"\nsince = {text}', A="a").since == moment


def test_a_secret_from_the_environment_is_redacted(tmp_path: Path) -> None:
    found = read(tmp_path, 'name = "n"\nsecret_env = "HIDDEN"\n', HIDDEN="canary")
    assert found.secret.reveal() == b"canary"
    assert "canary" not in repr(found) + str(found)


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(
            tmp_path,
            'nam = "n"\nshare = "x"\nyes = 1\nsecret_env = "NONE"\n[inner]\nnumber = -1\n[[many]]\nnumbr = 1\n',
        )
    assert str(refusal.value).removeprefix(f"{tmp_path / 'some.toml'}: ").split("; ") == [
        "unknown key 'nam', did you mean 'name'?",
        "name is missing",
        "unknown key 'many[0].numbr', did you mean 'number'?",
        "share must be a number, found 'x'",
        "yes must be true or false, found 1",
        "secret: the environment has no variable NONE",
        "inner: number must not be negative, found -1",
    ]


GOOD = 'name = "n"\nsecret_env = "A"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name = "n"', "secret_file or secret_env is missing"),
        ('name = "n"\nsecret = "canary"', "secret is a secret: give secret_file or secret_env"),
        ('name = "n"\nsecret_env = "A"\nsecret_file = "b"', "given once, found secret_file and secret_env"),
        ('name = "n"\nsecret_file = "absent"', "absent cannot be read"),
        ('name = "n"\nsecret_file = "."', ". cannot be read"),
        ('name = "n"\nsecret_env = "EMPTY"', "is empty"),
        ('name = "n"\nsecret_env = 5', "secret must be given by a name"),
        ('name = "n"\nsecret_env = ["canary"]', "secret must be given by a name"),
        ('name = 3\nsecret_env = "A"', "name must be a text, found 3"),
        ('name = 2026-01-02\nsecret_env = "A"', "name must be a text, found {'date': '2026-01-02'}"),
        (GOOD + "zzz = 3", "unknown key 'zzz', expected one of name, secret_file, secret_env, place, share"),
        (GOOD + "inner = 3", "inner must be a table, found 3"),
        (GOOD + "one = 3", "one must be a table, found 3"),
        (GOOD + "inner = { number = 1.0 }", "inner.number must be a whole number, found 1.0"),
        (GOOD + "inner = { number = true }", "inner.number must be a whole number, found True"),
        (GOOD + "many = 3", "many must be a list, found 3"),
        (GOOD + "many = [3]", "many[0] must be a table, found 3"),
        (GOOD + "words = [3]", "words[0] must be a text, found 3"),
        (GOOD + "counts = 3", "counts must be a table, found 3"),
        (GOOD + 'counts = { x = "y" }', "counts.x must be a whole number, found 'y'"),
        (GOOD + "since = 3", "since must be a date or a time, found 3"),
        (GOOD + 'since = "2026-01-02"', "since must be a date or a time, found '2026-01-02'"),
        (GOOD + "place = 3", "place must be a path, found 3"),
        (GOOD + 'place = ""', "place must be a path, found ''"),
        (GOOD + "share = true", "share must be a number, found True"),
        (GOOD + "either = [1]", "either must be a number or a text, found [1]"),
        ("name = ", "is not TOML"),
    ],
)
def test_one_problem(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(tmp_path, text, A="a", EMPTY=" ")
    assert problem in str(refusal.value)
    assert "canary" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_file_must_be_there_and_be_text(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("bad.toml", "absent.toml"):
        with refused("settings_unreadable", InvalidInput):
            read_toml(tmp_path / name, Outer)


def test_a_text_needs_no_file() -> None:
    assert parse_toml("number = 4", Inner, "here") == Inner(4)
    with pytest.raises(InvalidInput, match="^here: number must not be negative, found -1$"):
        parse_toml("number = -1", Inner, "here")


@pytest.mark.parametrize("module", ["treetop", "treetop.toml_files", "treetop.cli.options", "treetop.datasets.build"])
def test_the_library_behind_it_is_loaded_late(module: str) -> None:
    program = f"import sys, {module}; print([name for name in sys.modules if name.startswith('pydantic')])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
