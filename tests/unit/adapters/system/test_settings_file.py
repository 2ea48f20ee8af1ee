"""Settings are read once, and everything wrong is told at once."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from treetop.adapters.system.settings_file import Secret, read_settings
from treetop.errors import InvalidInput


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
    place: Path = Path("nowhere")
    share: float = 0.5
    yes: bool = False
    since: datetime | None = None
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    words: tuple[str, ...] = ()


def read(folder: Path, text: str, **environment: str) -> Outer:
    path = folder / "some.toml"
    path.write_text(text)
    return read_settings(path, Outer, environment)


def test_every_kind_of_value(tmp_path: Path) -> None:
    (tmp_path / "hidden").write_text("canary\n")
    found = read(
        tmp_path,
        'name = "n"\nsecret_file = "hidden"\nplace = "a/b"\nshare = 1\nyes = true\nsince = 2026-01-02\n'
        'words = ["x", "y"]\n'
        "[inner]\nnumber = 4\n[[many]]\n[[many]]\nnumber = 5\n",
    )
    assert found == Outer(
        "n", Secret(b"canary"), tmp_path / "a/b", 1, True, datetime(2026, 1, 2, tzinfo=UTC), Inner(4),
        (Inner(3), Inner(5)), ("x", "y"),
    )  # fmt: skip


def test_a_secret_from_the_environment_is_redacted(tmp_path: Path) -> None:
    found = read(tmp_path, 'name = "n"\nsecret_env = "HIDDEN"\n', HIDDEN="canary")
    assert found.secret.reveal() == b"canary"
    assert "canary" not in repr(found) + str(found)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(
            tmp_path,
            'nam = "n"\nshare = "x"\nyes = 1\nsecret_env = "NONE"\n[inner]\nnumber = -1\n[[many]]\nnumbr = 1\n',
        )
    told = str(refusal.value)
    for part in (
        "unknown setting nam, did you mean 'name'?",
        "name is missing",
        "share must be a number, found 'x'",
        "yes must be true or false, found 1",
        "no variable NONE",
        "inner: number must not be negative, found -1",
        "unknown setting many[0].numbr, did you mean 'number'?",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "n"\nsecret = "canary"', "secret is a secret: give secret_file or secret_env"),
        ('name = "n"\nsecret_env = "A"\nsecret_file = "b"', "given once, found secret_file and secret_env"),
        ('name = "n"\nsecret_file = "absent"', "absent cannot be read"),
        ('name = "n"\nsecret_file = "."', ". cannot be read"),
        ('name = "n"\nsecret_env = "EMPTY"', "is empty"),
        ('name = "n"\nsecret_env = 5', "must be a name"),
        ('name = "n"\nsecret_env = "A"\ninner = 3', "inner must be a table, found 3"),
        ('name = "n"\nsecret_env = "A"\nmany = 3', "many must be a list, found 3"),
        ('name = "n"\nsecret_env = "A"\nsince = 3', "since must be a date or a time, found 3"),
        ("name = ", "are not TOML"),
    ],
)
def test_one_problem(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(tmp_path, text, A="a", EMPTY="")
    assert told in str(refusal.value)
    assert "canary" not in str(refusal.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_settings(tmp_path / "absent.toml", Outer, {})
