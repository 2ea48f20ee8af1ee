"""What a query asks for, and the strategy that suits it: a catalogue, a trie over codes, hashed names, or Panorama."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.datasets.word_list import Words, word_list_of
from treetop.encoding.bit_strings import SHORTEST, code_array
from treetop.encoding.hashed_text import MAX_ITEMS_OF_A_SHORT_HASH, HashedText, hash_bits_for
from treetop.encoding.item_codecs import CODECS, Hashed, Ids, ItemCodec, codec_named
from treetop.encoding.listed_items import ListedItems
from treetop.encoding.normalisation import steps_named
from treetop.encoding.text_code import DEFAULT_CHUNKS, MAX_CHUNKS
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.hashed_names.mechanism import HashedNames
from treetop.mechanisms.hashed_names.plan import HashedTextParameters
from treetop.mechanisms.known_items import KnownItems
from treetop.mechanisms.panorama.mechanism import Panorama
from treetop.mechanisms.panorama.plan import MAX_NAME_BITS, NAME_BITS
from treetop.mechanisms.panorama.texts import ListedNames
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism, P
from treetop.mechanisms.registry import DEFAULT_MECHANISM, mechanism_named, parameters_for
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO
from treetop.simulation.population import Population

CATALOGUE, TRIE, HASHED, PANORAMA = "catalogue", "trie", "hashed", "panorama"
STRATEGIES = (CATALOGUE, TRIE, HASHED, PANORAMA)
ENCODINGS_OF: dict[str, tuple[str | None, ...]] = {
    HASHED: (None, Hashed.name), PANORAMA: (None, Hashed.name, Ids.name),
}  # fmt: skip
"""Where the strategy hashes, or takes ids as they are: no other encoding has a use."""
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


def choose(federation: Federation, request: FindRequest, seed: int = 0) -> Chosen:
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
    if strategy == PANORAMA:
        return _panorama(federation, request, reason, seed)
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
        mechanism: searched and strategy in (HASHED, PANORAMA),
        encoding: request.encoding not in ENCODINGS_OF.get(strategy, (request.encoding,)),
        "a catalogue": request.catalogue is not None and strategy not in (CATALOGUE, PANORAMA),
        "a word list": request.word_list is not None and strategy not in (HASHED, PANORAMA),
        "text recovery": request.text_recovery is not None and strategy not in (HASHED, PANORAMA),
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
    population = Population(replace(federation, notes=_naming_notes(federation, codec, words, texts)), codec)
    return Chosen(HashedNames(listed, texts), population, parameters, reason, words, undecided)


def _naming_notes(
    federation: Federation, codec: HashedText, words: ItemCatalogue | None, texts: bool
) -> tuple[str, ...]:
    """Return what is to be said of the items, of a list, and of texts that no report carries whole."""
    return (
        *federation.notes,
        *(_long_text_notes(federation, codec) if texts else ()),
        *(() if words is None else words.notes),
    )


def _long_text_notes(federation: Federation, codec: HashedText) -> tuple[str, ...]:
    """Say which texts no report carries whole, and how many chunks would."""
    needed = codec.chunks_needed(federation.items)
    too_long = int(np.count_nonzero(needed > codec.chunks))
    if not too_long:
        return ()
    most, room = int(needed.max()), int(np.quantile(needed, ENOUGH_FIT, method="higher"))
    advice = f"--set text_chunks={most} makes room for all of them"
    if most > MAX_CHUNKS:
        advice = f"the longest would take {most} chunks, {MAX_CHUNKS} is the most that there can be"
    elif room > codec.chunks and room < most:
        advice = f"--set text_chunks={room} makes room for {ENOUGH_FIT:.0%} of all items, {most} for every one"
    return (
        f"{too_long:,} items have a text code longer than {8 * codec.chunks} bits: found, they show as a hash unless a "
        f"word list names them ({advice})",
    )


def _panorama(federation: Federation, request: FindRequest, reason: str, seed: int) -> Chosen:
    """Count every name at once: places in a catalogue, ids below 2^b, or hashes of texts under a key of this query."""
    if request.catalogue is not None:
        known = _listed(request.catalogue)
        codec = ListedItems(known.items)
        everything = ListedNames.codes(code_array(range(len(known.items)), codec.bits))
        panorama = Panorama(everything, discovers=False, texts=False)
        parameters = replace(request, settings={**request.settings, "bits": codec.bits}).parameters_of(panorama)
        population = Population(replace(federation, notes=(*federation.notes, *known.notes)), codec)
        return Chosen(panorama, population, parameters, reason)
    texts = request.text_recovery is not False
    long = len(federation.items) > MAX_ITEMS_OF_A_SHORT_HASH
    settings = {"bits": MAX_NAME_BITS if long else NAME_BITS, **request.settings}
    given = replace(request, settings=settings).parameters_of(Panorama(ListedNames.codes(code_array([], SHORTEST))))
    to_read = request.word_list is not None or request.text_recovery is not None
    ids = Ids(given.bits)
    if request.encoding == Ids.name or (
        request.encoding is None and not to_read and np.mean(ids.encode(federation.items).fits) >= ENOUGH_FIT
    ):
        every_id = Panorama(ListedNames.codes(code_array([], given.bits)), texts=False)
        return Chosen(every_id, Population(federation, ids), given, reason)
    if "hash_key" not in request.settings:
        given = replace(given, hash_key=blake2b(b"%d" % seed, digest_size=8).hexdigest())
    hashed = HashedText(given.bits, given.hash_key, given.text_chunks)
    words = word_list_of(request.word_list)
    encoded = [word.encode("utf-8", errors="surrogatepass") for word in (() if words is None else words.items)]
    ordered = words is not None and words.ordered
    listed = ListedNames.hashed(encoded, hashed, given.text_chunks if texts else 0, ordered=ordered)
    by_hash = {} if words is None or texts else words.by_hash(hashed.hash_of)
    undecided = {code: several for code, several in by_hash.items() if len(several) > 1}
    population = Population(replace(federation, notes=_naming_notes(federation, hashed, words, texts)), hashed)
    return Chosen(Panorama(listed, texts=texts), population, given, reason, words, undecided)
