"""Things that go by a name: Treetop's own, and those that other packages declare as entry points."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from treetop.errors import InvalidInput

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """All entries of a kind by name. Another package's is imported when it is asked for, and not before."""

    def __init__(self, kind: str, own: Mapping[str, Entry], group: str, checked: Callable[[object], Entry]) -> None:
        """Take what an entry is called, Treetop's own, the group of entry points, and what refuses a wrong object."""
        self._kind, self._own, self._group, self._checked = kind, own, group, checked
        self._loaded: dict[str, Entry] = {}

    @cached_property
    def _added(self) -> dict[str, list[EntryPoint]]:
        added: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._group):
            added.setdefault(point.name, []).append(point)
        return added

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._added)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added

    def __getitem__(self, name: str) -> Entry:
        points = self._added.get(name, [])
        if not points:
            return self._own[name]
        if name in self._own or len(points) > 1:
            owners = ["treetop"] * (name in self._own) + [point.value for point in points]
            raise InvalidInput(f"the {self._kind} {name!r} must have one owner, found {' and '.join(owners)}")
        if name not in self._loaded:
            self._loaded[name] = self._load(name, points[0])
        return self._loaded[name]

    def _load(self, name: str, point: EntryPoint) -> Entry:
        entry = self._checked(point.load())
        found = getattr(entry, "name", None)
        if found != name:
            raise InvalidInput(f"the entry point {name!r} must be named like its {self._kind}, found {found!r}")
        return entry
