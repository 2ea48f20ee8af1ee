"""Things that go by a name: Treetop's own, and those that other packages declare as entry points."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from treetop.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """All entries of a kind by name. Another package's is imported when it is asked for, and not before."""

    def __init__(self, kind: str, own: Mapping[str, Entry], group: str, checked: Callable[[object], Entry]) -> None:
        """Take what an entry is called, Treetop's own, the group of entry points, and what refuses a wrong object."""
        self._kind = kind
        self._own = own
        self._group = group
        self._checked = checked
        self._loaded: dict[str, Entry] = {}

    @cached_property
    def _added(self) -> "dict[str, EntryPoint]":
        """Return the entry points of other packages; whoever asks for Treetop's own alone does not pay for it."""
        from importlib.metadata import entry_points  # noqa: PLC0415  loads much that a device has no use for

        added: dict[str, EntryPoint] = {}
        for point in entry_points(group=self._group):
            if point.name in self._own or point.name in added:
                first = added[point.name].value if point.name in added else "treetop"
                owners = f"{first} and {point.value}"
                raise InvalidInput("entry_point_owners", kind=self._kind, name=point.name, owners=owners)
            added[point.name] = point
        return added

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._added))

    def __len__(self) -> int:
        return len(self._own) + len(self._added)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added

    def __getitem__(self, name: str) -> Entry:
        if name in self._own:
            return self._own[name]
        if name not in self._loaded:
            point = self._added[name]
            try:
                entry = self._checked(point.load())
            except InvalidInput:
                raise
            except Exception as error:  # another package's code may fail in any way
                raise InvalidInput(
                    "entry_point_unloadable", kind=self._kind, name=name, value=point.value, reason=error
                ) from error
            found = getattr(entry, "name", None)
            if found != name:
                raise InvalidInput("entry_point_name", name=name, kind=self._kind, found=found)
            self._loaded[name] = entry
        return self._loaded[name]
