"""Mechanisms by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treetop.errors import UnknownName
from treetop.mechanisms.canopy import canopy_party, canopy_server
from treetop.mechanisms.canopy_plan import canopy_choices, canopy_lengths, canopy_levels, canopy_most_kept
from treetop.mechanisms.dialogue import Dialogue
from treetop.mechanisms.fedpem import fedpem_lengths, fedpem_party, fedpem_server
from treetop.mechanisms.gtf import gtf_party, gtf_server
from treetop.mechanisms.hashed_names import HashedNames
from treetop.mechanisms.known_items import CatalogueSurvey
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import Findings
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.tap import tap_party, tap_server
from treetop.mechanisms.taps import taps_party, taps_server
from treetop.trie.adaptive_extension import fixed_extension
from treetop.trie.global_ranking import GlobalRanking

DEFAULT_MECHANISM = "canopy"

_EVERY = frozenset({"bits", "levels", "groups", "hash_key", "least_kept"})
_ADAPTIVE = _EVERY | {
    "shared_share", "phase_one_share", "extension", "extension_factor", "drift_range", "shared_trie",
}  # fmt: skip
_CANOPY = frozenset({"bits", "hash_key", "step_bits", "kept", "score", "weights", "upload_budget", "least_kept"})
_HASHED = frozenset({"bits", "hash_key", "kept", "score", "upload_budget", "expected_items"})


def most_extended(parameters: Parameters) -> int:
    """Return the prefixes that a level of the paper's mechanisms keeps at most: k* + eta, or a multiple of k."""
    fixed = fixed_extension(parameters.k, parameters.extension_factor)
    return max(2 * parameters.k, fixed, parameters.least_kept)


@dataclass(frozen=True)
class Mechanism:
    """The two sides of a dialogue and the settings that they read."""

    name: str
    server: Callable[[Parameters, Roster], Dialogue[GlobalRanking]]
    party: Callable[[Parameters, Roster, Member], Dialogue[Findings]]
    reads: frozenset[str]
    shares: bool
    """Whether parties learn from each other before the end."""
    levels: Callable[[Parameters], int] = lambda parameters: parameters.levels
    choices: Callable[[Parameters], tuple[str, ...]] = lambda _: ()
    """What was chosen from public quantities and why, in words."""
    lengths: Callable[[Parameters], tuple[int, ...]] = lambda parameters: parameters.lengths
    """l_0 = 0 .. l_g: the bits that the candidates of every level have."""
    most_kept: Callable[[Parameters], int] = most_extended
    """The prefixes that a level keeps at most."""


def _canopy_mechanism() -> Mechanism:
    return Mechanism(
        "canopy", canopy_server, canopy_party, _CANOPY, True, canopy_levels, canopy_choices,
        lengths=canopy_lengths, most_kept=canopy_most_kept,
    )  # fmt: skip


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism(
            "fedpem", fedpem_server, fedpem_party, _EVERY | {"extension_factor"}, shares=False, lengths=fedpem_lengths
        ),
        Mechanism("gtf", gtf_server, gtf_party, _EVERY, shares=False),
        Mechanism("tap", tap_server, tap_party, _ADAPTIVE, shares=True),
        Mechanism("taps", taps_server, taps_party, _ADAPTIVE | {"beta", "pruning"}, shares=True),
        _canopy_mechanism(),
    )
}


def catalogue_mechanism(size: int, bits: int) -> Mechanism:
    """Return the mechanism for a catalogue of that many known items, with codes of that many bits."""
    survey = CatalogueSurvey(size, bits)
    reads = frozenset({"score"})
    return Mechanism("catalogue", survey.server, survey.party, reads, False, lambda _: 1, survey.choices)


def hashed_names_mechanism(listed: Mapping[int, bytes], *, texts: bool) -> Mechanism:
    """Return the mechanism for hashed names, with the hashes of a word list; `texts`: users report their texts, too."""
    names = HashedNames(listed, texts)
    reads = _HASHED | {"text_share", "text_chunks"} if texts else _HASHED
    return Mechanism("hashed_names", names.server, names.party, reads, True, names.levels, names.choices)


def mechanism_named(name: str | Mechanism) -> Mechanism:
    """Return the mechanism of that name; a mechanism is returned as it is."""
    if isinstance(name, Mechanism):
        return name
    if name not in MECHANISMS:
        raise UnknownName("mechanism", name, MECHANISMS)
    return MECHANISMS[name]


def every_mechanism() -> tuple[Mechanism, ...]:
    """Return those with a name of their own and the two that `find` makes for a query, to ask what they read."""
    return (*MECHANISMS.values(), catalogue_mechanism(1, 8), hashed_names_mechanism({}, texts=True))
