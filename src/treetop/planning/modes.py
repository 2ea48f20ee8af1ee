"""The modes that a plan compares, as stages that an item has to pass: what Panorama is given, and the trie."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treetop.encoding.item_codecs import CODECS, Hashed, Ids, bits_of_places
from treetop.mechanisms.canopy import Canopy, CanopyParameters, CanopyPlan
from treetop.mechanisms.panorama.algorithm import EVERYBODY, Panorama, catalogue_oracle, code_oracle
from treetop.mechanisms.panorama.discovery import PanoramaPlan
from treetop.mechanisms.panorama.parameters import ZETA, PanoramaParameters
from treetop.mechanisms.summed_level import SummedParameters
from treetop.metrics.detection_power import Stage, count_error, detection_power, marking_power
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import central_guarantee
from treetop.trie.significance import MAX_SETS_OF
from treetop.trie.user_groups import level_weights

READ_SIGNALS = (0.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
"""Standard deviations by which all reports of a word's chunks together would lift it above the noise."""
READ_CHANCES = (0.0, 0.02, 0.19, 0.49, 0.85, 0.96, 1.0)
"""How often a word of 8 characters is read at each of these signals: simulated, and both ends checked by
tests/statistical/test_reading_chance.py."""


@dataclass(frozen=True)
class Mode:
    """One way of finding items."""

    name: str
    what: str
    stages: tuple[Stage, ...]
    uplink_bits: int
    texts: Stage | None = None
    """With texts: the users who report a chunk."""
    mechanism: str = Panorama.name
    encodings: tuple[str, ...] = ()
    """Of the questions that a server asks in this mode."""
    levels: tuple[float, ...] = (1.0,)
    """Shares of users who answer at each level: the groups that reports hide in."""

    def central(self, users: int, epsilon: Epsilon, delta: float) -> float:
        """Return the central epsilon of a party with that number of users."""
        # A user who is alone at a level hides among nobody: a group of one gains nothing from shuffling.
        groups = [max(int(users * share), 1) for share in self.levels]
        return central_guarantee(groups, epsilon, delta).epsilon

    def found(self, users: Sequence[float], frequency: float) -> float:
        """Return the probability that an item of that frequency is found and, with texts, its text is read."""
        return detection_power(self.stages, users, frequency) * self._read(users, frequency)

    def marked(self, users: Sequence[float], frequency: float) -> float:
        """Return the probability that it is also marked as more than noise."""
        return marking_power(self.stages, users, frequency) * self._read(users, frequency)

    def _read(self, users: Sequence[float], frequency: float) -> float:
        if self.texts is None:
            return 1.0
        noise = count_error(self.texts, users, frequency).absent
        return float(np.interp(frequency * sum(users) / noise, READ_SIGNALS, READ_CHANCES)) if noise else 1.0


@dataclass(frozen=True)
class Lists:
    """How many items a catalogue and a word list would have."""

    catalogue: int
    words: int


def modes_of(parameters: SummedParameters, lists: Lists) -> tuple[Mode, ...]:
    """Return the modes, the one that needs to know most first."""
    canopy = CanopyParameters(parameters.k, parameters.epsilon, items_per_user=parameters.items_per_user)
    return (
        _catalogue(parameters, lists.catalogue),
        _word_list(parameters, lists.words),
        _ids(parameters),
        _texts(parameters),
        _canopy(canopy, shared=True),
        _canopy(canopy, shared=False),
    )


def mode_of(mechanism: str, encoding: str, parameters: SummedParameters, lists: Lists) -> Mode | None:
    """Return the mode in which a server asks with a mechanism for items of an encoding; None: a plan has none."""
    modes = (mode for mode in modes_of(parameters, lists) if mode.mechanism == mechanism)
    return next((mode for mode in modes if encoding in mode.encodings), None)


def _panorama(parameters: SummedParameters) -> PanoramaParameters:
    return PanoramaParameters(parameters.k, parameters.epsilon, items_per_user=parameters.items_per_user)


def _catalogue(parameters: SummedParameters, size: int) -> Mode:
    given = replace(_panorama(parameters), bits=bits_of_places(size))
    stage = replace(_every_name(given), oracle=catalogue_oracle(given, size), candidates=size)
    bits = PanoramaPlan((1.0,)).expected_bits(given, size, signed=False)
    what = f"{size:,} known items" + (", all listed" if size == given.k else "")
    return Mode("catalogue", what, (stage,), bits, encodings=("catalogue",))


def _word_list(parameters: SummedParameters, size: int) -> Mode:
    """Take an item that is on the list: all reports count for it, and only listed words compete with it."""
    given = _panorama(parameters)
    plan = PanoramaPlan.of(given, size, signed=False, discovers=True, texts=True)
    # Ranked against the list alone, but marked as more than noise only if it beats all codes that were tested.
    stage = replace(_every_name(given), candidates=size, tested=size + (1 << given.bits))
    bits = plan.expected_bits(given, size, signed=False)
    return Mode("word list", f"hash, one of {size:,} words", (stage,), bits)


def _ids(parameters: SummedParameters) -> Mode:
    given = _panorama(parameters)
    plan = PanoramaPlan.of(given, 0, signed=False, discovers=True, texts=False)
    last = _every_name(given)
    stages = (replace(last, going_on=plan.asked, tau=plan.tau), last)
    bits = plan.expected_bits(given, 0, signed=False)
    return Mode("ids", f"id below 2^{given.bits}", stages, bits, encodings=(Ids.name,))


def _texts(parameters: SummedParameters) -> Mode:
    """Take an item on no list: its code must be among the best of all, its text be read, and then all reports count."""
    given = _panorama(parameters)
    plan = PanoramaPlan.of(given, 0, signed=False, discovers=True, texts=True)
    every = _every_name(given)
    rho = given.rho  # the share of users who report a chunk of their text instead of its code
    best = replace(every, share=1 - rho, going_on=plan.kept)
    named = replace(best, going_on=plan.asked, tau=plan.tau)
    closing = replace(every, candidates=given.k, tested=every.candidates)
    stages = (named, best, closing)
    bits = plan.expected_bits(given, 0, signed=False)
    return Mode("texts", "hash, text recovered", stages, bits, replace(every, share=rho), encodings=(Hashed.name,))


def _every_name(given: PanoramaParameters) -> Stage:
    """Rank all 2^b codes by the reports of all users."""
    codes = 1 << given.bits
    # The planned item is the last of the k, so k - 1 others are ahead of it.
    return Stage(code_oracle(given), EVERYBODY, codes, given.k, ZETA, ahead=given.k - 1, sums_above=MAX_SETS_OF)


def _canopy(parameters: CanopyParameters, *, shared: bool) -> Mode:
    """Take a 48-bit code; an item whose prefixes others share is decided at the last level alone."""
    plan = CanopyPlan.of(parameters)
    covered = shared or parameters.items_per_user > 1  # with sets the uncovered share is not estimated
    weights = level_weights(plan.L, "adaptive", 0.0 if covered else 1.0)
    sizes = plan.max_candidates
    going_on = [min(plan.kept, size) for size in sizes[:-1]] + [parameters.k]
    stages = tuple(
        Stage(parameters.oracle_for(size), weight / sum(weights), size, kept, plan.zeta, ahead=parameters.k - 1)
        for size, kept, weight in zip(sizes, going_on, weights, strict=True)
    )
    name, what = ("canopy", "shared prefixes") if shared else ("canopy, alone", "no shared prefix")
    what = f"{parameters.bits}-bit code, {what}"
    levels = tuple(stage.share for stage in stages)
    bits = plan.expected_bits(parameters.k)
    asked = tuple(CODECS) if shared else ()
    return Mode(name, what, stages[-1:] if shared else stages, bits, None, Canopy.name, asked, levels)
