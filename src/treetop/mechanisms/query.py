"""What somebody asks: one frozen value for Python, commands, the HTTP interface, pages and orders to a federation.

Its fields are in four parts: what to find (k, catalogue, word list, normalise), how (mechanism, oracle, encoding,
strategy, text recovery, settings), privacy (epsilon, central) and sets. `FIELDS` describes each in one line, with its
default and range, for help texts, forms and the HTTP interface.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from typing import Any

from treetop.encoding.item_codecs import CODECS, ItemCatalogue, ItemCodec
from treetop.encoding.normalisation import STEPS, steps_named
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.defaults import DEFAULT_BUDGET, DEFAULT_K
from treetop.mechanisms.parameters import P
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS, SETTINGS, known_setting, mechanism_named, parameters_for
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO, oracle_names
from treetop.oracles.set_reports import DEFAULT_ITEMS, HOLDERS, MAX_ITEMS, READINGS, SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee

MAX_K = 1 << 20
PANORAMA = "panorama"
TRIE = "trie"
CATALOGUE = "catalogue"
HASHED = "hashed"
STRATEGIES = (PANORAMA, TRIE, CATALOGUE, HASHED)
"""`catalogue` and `hashed` are Panorama, told what to count: a catalogue that is given, or hashes, even of ids."""


@dataclass(frozen=True)
class About:
    """What a field is, for the person who fills it in."""

    text: str
    unset: str = ""
    """What happens where it is left out, if its default does not say so."""
    default: Any = None
    least: int | None = None
    most: int | None = None
    names: Callable[[], Sequence[str]] = tuple
    """What it may be, where that is a list; other packages may add to it."""

    @property
    def line(self) -> str:
        """Return the description in one line."""
        names = ", ".join(self.names())
        return f"{self.text}: {names}." if names else f"{self.text}."


def _about(text: str, **more: Any) -> dict[str, About]:
    return {"about": About(text, **more)}


@dataclass(frozen=True)
class Query:
    """A question; mechanism, oracle and encoding are names or objects, None: what suits the rest."""

    k: int = field(default=DEFAULT_K, metadata=_about("How many items to look for", least=1, most=MAX_K))
    epsilon: float | str = field(default=DEFAULT_BUDGET, metadata=_about("Privacy budget of every user's one report"))
    """In decimal digits where devices are asked: they compute with what was written."""
    mechanism: str | Mechanism[Any] | None = field(
        default=None,
        metadata=_about(
            "Mechanism", unset="panorama, or canopy where a trie is searched", names=lambda: list(MECHANISMS)
        ),
    )
    oracle: str | Oracle = field(default=AUTO, metadata=_about("Frequency oracle", names=oracle_names))
    encoding: str | ItemCodec | None = field(
        default=None,
        metadata=_about("How items become bits", unset="what suits the items", names=lambda: list(CODECS)),
    )
    _: KW_ONLY
    strategy: str | None = field(
        default=None,
        metadata=_about(
            "How items are found (catalogue and hashed are variants of Panorama)",
            unset="what suits the files and options",
            names=lambda: STRATEGIES,
        ),
    )
    catalogue: ItemCatalogue | None = field(
        default=None, metadata=_about("All items that are counted; of others only how many users hold one")
    )
    word_list: ItemCatalogue | None = field(
        default=None, metadata=_about("Items are hashed, and the hashes read back from this list")
    )
    text_recovery: bool | None = field(
        default=None,
        metadata=_about(
            "Some users report a part of their text, so that hashes on no list can be read",
            unset="on where items are hashed",
        ),
    )
    normalise: str | Sequence[str] = field(
        default=(),
        metadata=_about(
            "Steps that items and lists are put through first, separated by commas",
            unset="items as they are",
            names=lambda: STEPS,
        ),
    )
    settings: Mapping[str, object] = field(
        default_factory=dict,
        metadata=_about("A parameter or reading of the paper, again for each", names=lambda: list(SETTINGS)),
    )
    central: CentralGuarantee | None = field(
        default=None,
        metadata=_about("Guarantee against all but a user's party; epsilon follows from it and the expected users"),
    )
    sets: SetQuestion | None = None
    """What is asked of users who hold many items; None: every user holds one."""
    others: tuple[Mechanism[Any], ...] = ()
    """Mechanisms that are asked the same, whose settings are accepted as well."""

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidInput("k_invalid", k=self.k)
        if self.k > MAX_K:
            raise InvalidInput("k_out_of_range", max_k=MAX_K, k=self.k)
        Epsilon(self.epsilon)
        if self.strategy is not None and self.strategy not in STRATEGIES:
            raise UnknownName("strategy", self.strategy, STRATEGIES)
        object.__setattr__(self, "normalise", steps_named(self.normalise))

    @property
    def epsilon_text(self) -> str:
        """Return epsilon in decimal digits, as devices compute with it."""
        return self.epsilon if isinstance(self.epsilon, str) else f"{self.epsilon:g}"

    @property
    def items_per_user(self) -> int:
        """Return how many items a user's report covers at most."""
        return 1 if self.sets is None else self.sets.items_per_user

    def parameters_of(self, mechanism: Mechanism[P]) -> P:
        """Return what a mechanism is given, every setting checked; an encoding that is an object knows its own bits."""
        bits = {"bits": self.encoding.bits} if isinstance(self.encoding, ItemCodec) else {}
        items = {} if self.items_per_user == 1 else {"items_per_user": self.items_per_user}
        others = [*self.others, *([] if self.mechanism is None else [mechanism_named(self.mechanism)])]
        settings = {**bits, **self.settings, **items}
        return parameters_for(mechanism, self.k, self.epsilon, self.oracle, settings, others=others)

    def setting(self, name: str) -> Any:
        """Return a setting that was given, or None."""
        return known_setting(name).parse(name, self.settings[name]) if name in self.settings else None

    @property
    def wants_names_read(self) -> bool:
        """Return whether somebody asked for names to be read from a list or from reports."""
        return self.word_list is not None or self.text_recovery is not None


FIELDS: Mapping[str, About] = {
    **{
        each.name: replace(each.metadata["about"], default=None if each.default is MISSING else each.default)
        for each in fields(Query)
        if "about" in each.metadata
    },
    "items_per_user": About(
        f"Users with many items: maximum number of a user's items that her report covers, up to {MAX_ITEMS}",
        unset=str(DEFAULT_ITEMS),
        least=1,
        most=MAX_ITEMS,
    ),
    "reading": About("Users with many items: what a count is", unset=HOLDERS, names=lambda: READINGS),
}
"""By the name of a field; those of `sets` have names of their own wherever they are asked for."""
