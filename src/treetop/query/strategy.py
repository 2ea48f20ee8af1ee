"""What a query asks for, and the strategy that suits it: a catalogue, a trie over codes, or hashed names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.datasets.word_list import Words, word_list_of
from treetop.encoding.hashed_text import HashedText, hash_bits_for
from treetop.encoding.item_codecs import CODECS, Hashed, ItemCodec, codec_named
from treetop.encoding.listed_items import ListedItems
from treetop.encoding.normalisation import steps_named
from treetop.encoding.text_code import DEFAULT_CHUNKS
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.hashed_names.mechanism import HashedNames
from treetop.mechanisms.hashed_names.plan import HashedTextParameters
from treetop.mechanisms.known_items import KnownItems
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism, P
from treetop.mechanisms.registry import DEFAULT_MECHANISM, mechanism_named, parameters_for
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO
from treetop.simulation.population import Population

CATALOGUE, TRIE, HASHED = "catalogue", "trie", "hashed"
STRATEGIES = (CATALOGUE, TRIE, HASHED)
ENOUGH_FIT = 0.95
"""Share of the items that must fit a code that can be read back, or names are hashed."""

Items = ItemCatalogue | Iterable[object]


@dataclass(frozen=True)
class FindRequest:
    """What the user asks for; mechanism, oracle and encoding are names or objects, and None is chosen from the data."""

    k: int = 10
    epsilon: float = 2.0
    mechanism: str | Mechanism[Any] = DEFAULT_MECHANISM
    oracle: str | Oracle = AUTO
    encoding: str | ItemCodec | None = None
    strategy: str | None = None
    catalogue: Items | None = None
    word_list: Words | None = None
    text_recovery: bool | None = None
    normalise: str | Sequence[str] = ()
    """Steps that items and lists are put through before anything is hashed or looked up."""
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.strategy is not None and self.strategy not in STRATEGIES:
            raise UnknownName("strategy", self.strategy, STRATEGIES)
        steps_named(self.normalise)

    def parameters_of(self, mechanism: Mechanism[P]) -> P:
        """Return what a mechanism is given, every setting checked; an encoding that is an object knows its own bits."""
        bits = {"bits": self.encoding.bits} if isinstance(self.encoding, ItemCodec) else {}
        return parameters_for(
            mechanism, self.k, self.epsilon, self.oracle, {**bits, **self.settings},
            others=[mechanism_named(self.mechanism)],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Chosen:
    """A strategy that is ready to run, and why it was taken."""

    mechanism: Mechanism[Any]
    population: Population
    parameters: Parameters
    reason: str
    words: ItemCatalogue | None = None
    """The list that names are read from."""
    undecided: Mapping[int, tuple[bytes, ...]] = field(default_factory=dict)
    """Hashes that stand for several words of a list that does not say which of them is the likelier."""


def choose(federation: Federation, request: FindRequest) -> Chosen:
    """Take the strategy that was asked for, or the one that suits the items."""
    federation, request = _normalised(federation, request)
    mechanism = mechanism_named(request.mechanism)
    parameters = request.parameters_of(mechanism)
    strategy, reason = _strategy_of(federation, parameters, request)
    _refuse_unused(strategy, request)
    if strategy == CATALOGUE:
        survey, population = catalogued(federation, request.catalogue or ())
        return Chosen(survey, population, request.parameters_of(survey), reason)
    if strategy == TRIE:
        encoding = request.encoding or fitting_encoding(federation, parameters.bits)
        return Chosen(mechanism, populate(federation, parameters, encoding), parameters, reason)
    return _hashed(federation, request, reason)


def _normalised(federation: Federation, request: FindRequest) -> tuple[Federation, FindRequest]:
    """Put items and lists through the same steps, if any were asked for."""
    steps = steps_named(request.normalise)
    if not steps:
        return federation, request
    known = (None if request.catalogue is None else _listed(request.catalogue), word_list_of(request.word_list))
    catalogue, words = (None if items is None else items.normalised(steps) for items in known)
    return federation.normalised(steps), replace(request, catalogue=catalogue, word_list=words)


def _strategy_of(federation: Federation, parameters: Parameters, request: FindRequest) -> tuple[str, str]:
    """Return the strategy and the reason for it, in words."""
    if request.strategy is not None:
        return request.strategy, f"the strategy {request.strategy!r} was asked for"
    if request.catalogue is not None:
        return CATALOGUE, "the items are known, and nothing needs to be searched"
    if request.mechanism != DEFAULT_MECHANISM or request.encoding is not None:
        return TRIE, "a mechanism or an encoding was asked for"
    if request.word_list is not None or request.text_recovery is not None:
        return HASHED, "names are to be read back"
    encoding = fitting_encoding(federation, parameters.bits)
    if encoding is None:
        return HASHED, f"too few items fit a code of {parameters.bits} bits that can be read back"
    return TRIE, f"the items fit the encoding {encoding!r} with {parameters.bits} bits"


def fitting_encoding(federation: Federation, bits: int) -> str | None:
    """Return the first of the federation's own encoding, words and ids that nearly all items fit, or None."""
    for name in dict.fromkeys((federation.encoding, "words", "ids")):
        if np.mean(CODECS[name](bits).encode(federation.items).fits) >= ENOUGH_FIT:
            return name
    return None


def _refuse_unused(strategy: str, request: FindRequest) -> None:
    """Say what was asked for that the strategy cannot use."""
    searched = request.mechanism != DEFAULT_MECHANISM
    mechanism = f"the mechanism {getattr(request.mechanism, 'name', request.mechanism)!r}"
    encoding = f"the encoding {getattr(request.encoding, 'name', request.encoding)!r}"
    if strategy == CATALOGUE:
        if request.catalogue is None:
            raise InvalidInput("the strategy 'catalogue' expects a catalogue, found none")
        if searched or request.encoding is not None:
            found = mechanism if searched else encoding
            raise InvalidInput(f"with a catalogue nothing is searched or encoded, found {found}: leave it out")
    unused = {
        mechanism: searched and strategy == HASHED,
        encoding: request.encoding not in (None, Hashed.name) and strategy == HASHED,
        "a catalogue": request.catalogue is not None and strategy != CATALOGUE,
        "a word list": request.word_list is not None and strategy != HASHED,
        "text recovery": request.text_recovery is not None and strategy != HASHED,
    }
    for what, is_given in unused.items():
        if is_given:
            raise InvalidInput(f"the strategy {strategy!r} has no use for {what}: leave one of them out")


def populate(federation: Federation, parameters: Parameters, encoding: str | ItemCodec | None) -> Population:
    """Encode a federation, by default in the encoding that suits its items."""
    if not isinstance(encoding, ItemCodec):
        encoding = codec_named(encoding or federation.encoding, parameters.bits, parameters.hash_key)
    if encoding.bits != parameters.bits:
        raise InvalidInput(f"the setting 'bits' is {parameters.bits}, found an encoding of {encoding.bits} bits")
    return Population(federation, encoding)


def catalogued(federation: Federation, catalogue: Items) -> tuple[KnownItems, Population]:
    """Encode a federation by a catalogue of known items; every user reports her item once."""
    known = _listed(catalogue)
    codec = ListedItems(known.items)
    population = Population(replace(federation, notes=(*federation.notes, *known.notes)), codec)
    return KnownItems(len(known.items), codec.bits), population


def _listed(items: Items) -> ItemCatalogue:
    return items if isinstance(items, ItemCatalogue) else ItemCatalogue.of(items)


def _hashed(federation: Federation, request: FindRequest, reason: str) -> Chosen:
    """Hash names into 24 or 32 bits; texts are asked for unless a word list makes that needless."""
    texts = request.word_list is None if request.text_recovery is None else request.text_recovery
    parameters = request.parameters_of(HashedNames({}, texts))
    expected = parameters.expected_items or len(federation.items)
    bits = parameters.bits if "bits" in request.settings else hash_bits_for(expected)
    parameters = replace(parameters, bits=bits, expected_items=expected)
    chunks = parameters.text_chunks if isinstance(parameters, HashedTextParameters) else DEFAULT_CHUNKS
    codec = HashedText(bits, parameters.hash_key, chunks)
    words = word_list_of(request.word_list)
    by_hash = {} if words is None else words.by_hash(codec.hash_of)
    undecided = {code: several for code, several in by_hash.items() if len(several) > 1}
    # Between words that share a hash the reported texts decide; where none are asked for, all of them are shown.
    listed = {code: b" or ".join(several) for code, several in by_hash.items() if not (texts and code in undecided)}
    notes = federation.notes
    if texts and (too_long := codec.unrecoverable(federation.items)):
        notes += (
            f"{too_long:,} items have a text code longer than {8 * codec.chunks} bits: found, they show as a hash "
            "unless a word list names them (--set text_chunks=16 makes room)",
        )
    if words is not None:
        notes += words.notes
    population = Population(replace(federation, notes=notes), codec)
    return Chosen(HashedNames(listed, texts), population, parameters, reason, words, undecided)
