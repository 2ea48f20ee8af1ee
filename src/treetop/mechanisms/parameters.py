"""Validated parameters, with the paper's notation beside each name."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from treetop.encoding.bit_strings import LONGEST, SHORTEST
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY
from treetop.encoding.levels import level_lengths, level_lengths_from, starting_bits
from treetop.encoding.text_code import DEFAULT_CHUNKS
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.settings import Setting, choice, number, setting, text, whole_number, yes_or_no
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.registry import AUTO, checked_oracle_name, oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.adaptive_extension import DriftRange, Extension, ExtensionRule
from treetop.trie.level_weights import Weights
from treetop.trie.lower_confidence import ScoreRule
from treetop.trie.user_groups import floor_of_share


@dataclass(frozen=True)
class Parameters:
    """All that a mechanism is told about a query; the defaults are those of the paper's section 7."""

    k: int
    epsilon: Epsilon
    oracle: str = AUTO

    bits: int = setting(48, "m", "Bits of an item's code.", whole_number(SHORTEST, LONGEST))
    levels: int = setting(24, "g", "Levels of the trie; the step is m / g bits.", whole_number(1, LONGEST))
    shared_share: float = setting(
        0.25, "g_s / g", "Share of the levels that belong to the shared shallow trie.",
        number("a number from 0 to below 1", lambda share: 0 <= share < 1),
    )  # fmt: skip
    phase_one_share: float = setting(
        0.1, "", "Share of a party's users who answer in phase I.",
        number("a number above 0 and below 1", lambda share: 0 < share < 1),
    )  # fmt: skip
    beta: float = setting(
        0.1, "beta", "Share of a pruned level's users in each of the two validation sets.",
        number("a number above 0 and at most 0.25", lambda share: 0 < share <= 0.25),
    )  # fmt: skip
    extension: Extension = setting(
        "floor", "t", "How many prefixes a level keeps: max(k, k* + eta), k* + eta, k* + k, or factor k.",
        choice("floor", "printed", "worst_case", "fixed"),
    )  # fmt: skip
    extension_factor: float = setting(
        1.0, "t / k", "Multiple of k that FedPEM and a fixed extension keep.",
        number("a number above 0 and at most 100", lambda factor: 0 < factor <= 100),
    )  # fmt: skip
    drift_range: DriftRange = setting(
        "positive", "x", "Range of x in Eq. 10: from 1, or as printed.", choice("positive", "printed")
    )
    shared_trie: bool = setting(
        True, "C_{g_s}", "Whether parties go on from the shared trie or each from its own.", yes_or_no()
    )
    pruning: bool = setting(True, "", "Whether TAPS prunes; without it, it is TAP.", yes_or_no())
    least_kept: int = setting(
        1, "", "Prefixes that a level keeps at least; devices that check their candidate lists ask for 2.",
        whole_number(1, 1 << 20),
    )  # fmt: skip
    groups: str = setting(
        "fixed", "U_h", "Groups of exact sizes, or every user draws her own from the same weights.",
        choice("fixed", "independent"),
    )  # fmt: skip
    step_bits: int = setting(8, "b", "Canopy: bits that a level adds to a prefix, at most.", whole_number(1, 16))
    kept: int = setting(0, "t", "Canopy: prefixes that a level keeps; 0 is max(2k, 30).", whole_number(0, 1 << 20))
    score: ScoreRule = setting(
        "lower_confidence", "", "Canopy: rank by the best lower bound over sets of parties, or by plain sums.",
        choice("lower_confidence", "sum"),
    )  # fmt: skip
    weights: Weights = setting(
        "adaptive", "w_h", "Canopy: users of a level, from what is still uncovered, or from public weights.",
        choice("adaptive", "ramp", "equal"),
    )  # fmt: skip
    upload_budget: int = setting(
        0, "", "Canopy: bits a party may expect to send; lowers step_bits until they fit. 0: no limit.",
        whole_number(0, 1 << 40),
    )  # fmt: skip
    expected_items: int = setting(
        0, "", "Hashed names: different items expected; more than 100,000 take 32 bits, fewer 24. 0: not known.",
        whole_number(0, 1 << 40),
    )  # fmt: skip
    text_share: float = setting(
        0.3, "", "Hashed names: share of users who report a part of their text; 0.4 to 0.45 suit long texts.",
        number("a number above 0 and below 1", lambda share: 0 < share < 1),
    )  # fmt: skip
    text_chunks: int = setting(
        DEFAULT_CHUNKS, "", "Hashed names: parts of 8 bits that a text's code is cut into.", whole_number(1, 64)
    )
    hash_key: str = setting(DEFAULT_HASH_KEY, "", "Key of the hashed encoding.", text("a text that is not empty"))

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidInput(f"k must be a whole number of at least 1, found {self.k}")
        checked_oracle_name(self.oracle)
        object.__setattr__(self, "epsilon", Epsilon(self.epsilon))
        for name, known in SETTINGS.items():
            object.__setattr__(self, name, known.parse(name, getattr(self, name)))
        level_lengths(self.bits, self.levels)

    def with_settings(self, settings: Mapping[str, object]) -> "Parameters":
        """Return these parameters with some settings changed, each parsed and checked.

        Where a code has fewer bits than there are levels, and these were not asked for, a level is one bit.
        """
        for name in settings:
            if name not in SETTINGS:
                raise UnknownName("setting", name, SETTINGS)
        changed: dict[str, Any] = {name: SETTINGS[name].parse(name, value) for name, value in settings.items()}
        levels = min(self.levels, changed.get("bits", self.bits))
        return replace(self, **{"levels": levels, **changed})

    @cached_property
    def shared_levels(self) -> int:
        """Return g_s = floor(0.25 g); below 4 levels there is no phase I."""
        return floor_of_share(self.shared_share, self.levels)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Return l_0 .. l_g with l_h = ceil(h m / g)."""
        return level_lengths(self.bits, self.levels)

    @cached_property
    def pem_lengths(self) -> tuple[int, ...]:
        """Return l_0 .. l_g as PEM grows them, from ceil(log2 k) bits."""
        return level_lengths_from(starting_bits(self.k), self.bits, self.levels)

    @cached_property
    def pruned_levels(self) -> tuple[int, ...]:
        """Return g_s + 1 .. 2 g_s and g - g_s .. g (Alg. 4, line 7)."""
        g, g_s = self.levels, self.shared_levels
        first, last = range(g_s + 1, 2 * g_s + 1), range(g - g_s, g + 1)
        return tuple(h for h in range(g_s + 1, g + 1) if h in first or h in last)

    @cached_property
    def extension_rule(self) -> ExtensionRule:
        """Return how many prefixes a level keeps."""
        return ExtensionRule(self.extension, self.extension_factor, self.drift_range)

    @property
    def independent(self) -> bool:
        """Return whether every user draws her own group."""
        return self.groups == "independent"

    def oracle_for(self, candidates: int) -> FrequencyOracle[Any]:
        """Return the frequency oracle for a domain of that many candidates and the dummy."""
        return oracle_named(self.oracle, self.epsilon, candidates)


SETTINGS: dict[str, Setting] = {
    known.name: known.metadata["setting"] for known in fields(Parameters) if "setting" in known.metadata
}
