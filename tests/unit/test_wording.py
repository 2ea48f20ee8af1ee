"""Every code is worded, with the parameters that it is raised with, and no wording is left over."""

import ast
import inspect
import pickle
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from treetop import errors
from treetop.errors import InvalidInput, PeerViolation, TreetopError, UnknownName
from treetop.wording import Note, Wording, word
from treetop.wording.errors import ERRORS
from treetop.wording.notes import NOTES

SOURCE = Path(errors.__file__).parent
RAISED = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, TreetopError) and kind.__init__ is TreetopError.__init__
}
"""Errors that are raised with a code of `ERRORS`; the others have one of their own."""


def coded_calls() -> list[tuple[str, str, str, set[str] | None]]:
    """Return file and line, kind, code and parameters of every note and error in the source; None: given as `**`."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            first = node.args[0].value
            if name not in RAISED | {"Note"} or not isinstance(first, str) or not first.isidentifier():
                continue
            given = {each.arg for each in node.keywords}
            names = None if None in given else {each for each in given if each is not None}
            found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", name, first, names))
    return found


def parameters_of(wording: Wording) -> set[str]:
    if isinstance(wording, str):
        fields = (name for _, name, _, _ in Formatter().parse(wording) if name)
        return {name.split(".")[0].split("[")[0] for name in fields}
    return set(inspect.signature(wording).parameters)


def test_every_code_has_a_wording_of_its_parameters() -> None:
    for where, kind, code, given in coded_calls():
        catalogue = NOTES if kind == "Note" else ERRORS
        assert code in catalogue, f"{where}: {code} is not worded"
        if given is not None:
            unknown = parameters_of(catalogue[code]) - given
            assert not unknown, f"{where}: the wording of {code} expects {unknown}"


def test_no_sentence_is_raised() -> None:
    """Sentences are for packages that extend Treetop: here every error has a code."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED and node.args:
                first = node.args[0]
                named = isinstance(first, ast.Constant) and str(first.value).isidentifier()
                assert named, f"{path.relative_to(SOURCE)}:{node.lineno} raises a sentence"


@pytest.mark.parametrize("catalogue", [NOTES, ERRORS], ids=["notes", "errors"])
def test_catalogues_are_sorted_by_code(catalogue: dict[str, Wording]) -> None:
    assert list(catalogue) == sorted(catalogue)


def test_no_wording_is_left_over() -> None:
    """A code is named somewhere, or made of a prefix and a kind, as those of budgets are."""
    texts = {
        node.value
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "wording"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    made = {code for code in (*NOTES, *ERRORS) if f"{code.partition('_')[0]}_" in texts}
    assert not (set(NOTES) | set(ERRORS)) - texts - made


def test_lists_are_joined_and_notes_are_worded_in_place() -> None:
    catalogue: dict[str, Wording] = {"found": "found {names} and {inner}"}
    inner = Note("rows_added_up", rows=1200)
    text = word(catalogue, "found", {"names": ["a", "b"], "inner": inner})
    assert text == f"found a, b and {inner.text}"


def test_a_code_without_a_wording_stands_for_itself() -> None:
    assert word({}, "of_another_version", {"level": 3}) == "of_another_version (level = 3)"
    assert Note("of_another_version").text == "of_another_version"


def test_notes_are_values() -> None:
    note = Note("rows_added_up", rows=2)
    assert note == Note("rows_added_up", rows=2) != Note("rows_added_up", rows=3)
    assert len({note, Note("rows_added_up", rows=2)}) == 1
    assert pickle.loads(pickle.dumps(note)) == note  # noqa: S301  our own bytes
    assert note.to_json() == {"code": "rows_added_up", "parameters": {"rows": 2}, "text": note.text}
    with pytest.raises(AttributeError):
        note.code = "other"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownName("oracle", "kr", ["krr", "oue"]), "unknown_name"),
        (PeerViolation("count", 3, 4), "peer_violation"),
        (InvalidInput("seed_out_of_range", most=9, seed=-1), "seed_out_of_range"),
    ],
)
def test_errors_carry_a_code_and_survive_pickling(error: TreetopError, code: str) -> None:
    again: Any = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert (error.code, again.code) == (code, code)
    assert again.parameters == error.parameters
    assert str(again) == str(error)
    assert type(again) is type(error)


def test_another_package_may_give_a_sentence() -> None:
    error = InvalidInput("the dial must be 3, found 4")
    assert (error.code, str(error)) == ("", "the dial must be 3, found 4")
