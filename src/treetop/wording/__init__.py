"""The words for everything that Treetop reports: a note, a choice or an error is a code with parameters, worded here.

Code that finds something out names a code and its parameters. Tests assert those, `--json` carries both with the text,
and a translation of Treetop is a translation of this folder: `notes.py` for what an answer says about itself,
`errors.py` for what is refused.

A wording is a template in the syntax of `str.format`, or a function of the same parameters where a sentence has
alternatives. A list is joined with commas, and a note that is a parameter of another one is worded in its place.
"""

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

Wording = str | Callable[..., str]
Parameters = Mapping[str, Any]
"""Texts, numbers, truth values, None, notes, and lists of these: what JSON can carry."""


class _Joining(Formatter):
    """Formats a list as its entries, each with the list's format, joined by commas."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Note):
            return value.text
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(entry, format_spec) for entry in value)
        return str(super().format_field(value, format_spec))


_JOINING = _Joining()


def word(catalogue: Mapping[str, Wording], code: str, parameters: Parameters) -> str:
    """Return the text of a code; a code that the catalogue lacks stands for itself, with its parameters."""
    wording = catalogue.get(code)
    if wording is None:
        given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        return f"{code} ({given})" if given else code
    return _JOINING.vformat(wording, (), parameters) if isinstance(wording, str) else wording(**parameters)


class Note:
    """One thing that a reader of a result should know: a code and its parameters.

    >>> Note("rows_added_up", rows=1200).text
    '1,200 repeated (party, item) rows were added up'
    """

    __slots__ = ("code", "parameters")

    code: str
    parameters: Parameters

    def __init__(self, code: str, /, **parameters: Any) -> None:
        frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "parameters", frozen)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a note is frozen: {name} cannot be set")

    @property
    def text(self) -> str:
        """Return the note as a sentence without a full stop."""
        from treetop.wording.notes import NOTES  # noqa: PLC0415  loaded only where something is shown

        return word(NOTES, self.code, self.parameters)

    def to_json(self) -> dict[str, Any]:
        """Return code, parameters and text, as `--json` prints them."""
        return {"code": self.code, "parameters": _json_form(self.parameters), "text": self.text}

    @classmethod
    def from_json(cls, code: str, parameters: Mapping[str, Any]) -> "Note":
        """Return a note that `to_json` wrote; ValueError where the code is unknown or has other parameters."""
        from treetop.wording.notes import NOTES  # noqa: PLC0415

        note = cls(code, **{name: _from_json_form(value) for name, value in parameters.items()})
        try:
            if code not in NOTES:
                raise KeyError(code)
            note.text  # noqa: B018  the parameters are of the kinds that its wording formats
        except (KeyError, ValueError, TypeError, IndexError, AttributeError) as reason:
            raise ValueError(f"no note of Treetop: {code}") from reason
        return note

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"Note({self.code!r}{given})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and (self.code, self.parameters) == (other.code, other.parameters)

    def __hash__(self) -> int:
        return hash((self.code, repr(self.parameters)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_note, (self.code, dict(self.parameters))


def _rebuild_note(code: str, parameters: dict[str, Any]) -> Note:
    return Note(code, **parameters)


def _json_form(value: Any) -> Any:
    """Return parameters as JSON writes them: a note inside as its own object."""
    if isinstance(value, Note):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _json_form(entry) for name, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json_form(entry) for entry in value]
    return value


def _from_json_form(value: Any) -> Any:
    if isinstance(value, dict):
        return Note.from_json(value["code"], value["parameters"])
    if isinstance(value, list):
        return tuple(_from_json_form(entry) for entry in value)
    return value
