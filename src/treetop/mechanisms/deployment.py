"""How a mechanism is deployed: what its devices are told before it begins, and what a party makes of small groups.

The values here suit most mechanisms. What a deployment does not say, it reads from the algorithm: `deployed_groups`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Literal

from treetop.encoding.text_code import CHUNK_BITS
from treetop.errors import InvalidInput
from treetop.mechanisms.parameters import P
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.wire.taps import Continue
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.walsh import WalshHashing
from treetop.trie.user_groups import VALIDATING, Group, GroupSizes
from treetop.wording import Note

if TYPE_CHECKING:
    from treetop.mechanisms.canopy import CanopyParameters
    from treetop.mechanisms.panorama.algorithm import Panorama
    from treetop.mechanisms.panorama.parameters import PanoramaParameters
    from treetop.mechanisms.taps import TapsParameters

Mode = Literal["one-shot", "rounds"]
MODES: tuple[Mode, ...] = ("one-shot", "rounds")
MIN_KEPT_IN_ROUNDS = 2
"""A device refuses a list that grew from one prefix: it would ask about that prefix alone."""
WHOLE_WEIGHT = 1 << 30
"""What the weights of all kinds of reports add up to in a task, nearly: they are whole numbers there."""


@dataclass(frozen=True)
class Deployment(Generic[P]):
    """The modes of a mechanism, what it tolerates, and which settings a deployment fixes."""

    modes: tuple[Mode, ...] = MODES
    """How it can be deployed; none: it can be simulated only."""
    tolerates_small_groups: bool = False
    """Whether a level with too few reports is left out; otherwise its party withdraws."""
    prunes: bool = False
    """Whether its candidate lists may leave out children of the level before, and say so."""
    hashing_oracle: str = OptimizedLocalHashing.name
    """What the oracle `auto` is where devices hash what they report (one-shot)."""

    def settings(
        self, parameters: type[P], asked: Mapping[str, object], *, mode: Mode, hashed: bool
    ) -> dict[str, object]:
        """Return settings with what a deployment fixes: devices draw their own groups, from weights known beforehand.

        `hashed`: codes are hashes and share their prefixes by chance alone.
        """
        if asked.get("groups", "independent") != "independent":
            raise InvalidInput("groups_not_independent")
        known = parameters.settings()
        fixed = dict(asked)
        if "groups" in known:
            fixed["groups"] = "independent"
        if mode == "rounds" and "least_kept" in known:
            least = known["least_kept"].parse("least_kept", asked.get("least_kept", 1))
            fixed["least_kept"] = max(least, MIN_KEPT_IN_ROUNDS)
        return fixed

    def task_lengths(self, parameters: P) -> tuple[int, ...] | None:
        """Return l_0 = 0 .. l_g, the bits of what the devices of every level report; None: those of the candidates."""
        return None

    def group_weights(self, parameters: P) -> GroupSizes | None:
        """Return the weights by which a device draws its group; None: as the party's dialogue divides its users."""
        return None

    def validates(self, facts: PublicFacts[P]) -> bool:
        """Run by the party: whether its validation sets are needed for another party's lists."""
        return False

    def usable(
        self, facts: PublicFacts[P], message: object, groups: Mapping[Group, int], min_validation: int
    ) -> tuple[object, tuple[Note, ...]]:
        """Run by the party: what of a message may be used with groups of these sizes, and why not the rest."""
        return message, ()


class TapsDeployment(Deployment["TapsParameters"]):
    """Parties validate each other's lists, as far as their groups are large enough."""

    def validates(self, facts: PublicFacts["TapsParameters"]) -> bool:
        """Run by the party: whether it hears of another's lists: not the first one, and not without pruning."""
        return facts.parameters.pruning and facts.roster.previous(facts.member) is not None

    def usable(
        self, facts: PublicFacts["TapsParameters"], message: object, groups: Mapping[Group, int], min_validation: int
    ) -> tuple[object, tuple[Note, ...]]:
        """Run by the party: leave out the lists that must not prune here, and note why.

        Of 2k prefixes the k that seem less frequent may be pruned. A shorter list would be pruned whole, whatever the
        own users say: whoever wrote it could choose what the next party loses (T7).
        """
        if not isinstance(message, Continue):
            return message, ()
        refused: dict[int, Note] = {}
        for level, lists in message.D.items():
            prefixes = len(lists.frequent)
            if prefixes < 2 * facts.parameters.k:
                refused[level] = Note(
                    "level_list_short", levels=[level], prefixes=prefixes, least=2 * facts.parameters.k
                )
            elif min(groups.get(Group(level, role), 0) for role in VALIDATING) < min_validation:
                refused[level] = Note("level_without_validation", levels=[level], least=min_validation)
        kept = {level: lists for level, lists in message.D.items() if level not in refused}
        return replace(message, D=kept), tuple(refused.values())


class CanopyDeployment(Deployment["CanopyParameters"]):
    """Devices draw their level from public weights, whatever the levels before have found."""

    def settings(
        self, parameters: type["CanopyParameters"], asked: Mapping[str, object], *, mode: Mode, hashed: bool
    ) -> dict[str, object]:
        """Take public weights: every device draws its own level. Hashes share prefixes by chance, at every level."""
        fixed = super().settings(parameters, asked, mode=mode, hashed=hashed)
        if mode == "rounds" and str(fixed.get("seeds", "")):
            raise InvalidInput("seeds_in_rounds")
        if fixed.get("weights", "adaptive") == "adaptive":
            fixed["weights"] = "equal" if hashed else "ramp"
        return fixed

    def group_weights(self, parameters: "CanopyParameters") -> GroupSizes:
        """Return the weights of the levels, as whole numbers."""
        plan = parameters.plan
        weights = plan.level_weights(parameters.weights, 0.0)
        denominator = 2 * max(1, plan.L - 1) * (7 if plan.seeds else 1)  # of 1/2, of j / (L - 1) and of 13/7
        return {Group(h): round(denominator * weight) for h, weight in enumerate(weights, start=1)}


@dataclass(frozen=True)
class PanoramaDeployment(Deployment["PanoramaParameters"]):
    """Every kind of report, whole names and each chunk behind them, is a level of the task."""

    modes: tuple[Mode, ...] = ("one-shot",)
    tolerates_small_groups: bool = True
    hashing_oracle: str = WalshHashing.name
    panorama: "Panorama" = field(kw_only=True)

    def task_lengths(self, parameters: "PanoramaParameters") -> tuple[int, ...]:
        """Return the bits of a name, and of a name with its first chunks; refuse an oracle that cannot count them."""
        if self.panorama.discovers:
            oracle = self.panorama.oracle(parameters)
            oracle.every_name(parameters.bits, oracle.report_slots)
        chunks = parameters.text_chunks if self.panorama.texts else 0
        return (0, *(parameters.bits + CHUNK_BITS * chunk for chunk in range(chunks + 1)))

    def group_weights(self, parameters: "PanoramaParameters") -> GroupSizes:
        """Return the weights of every kind of report, as whole numbers."""
        weights = self.panorama.expected_plan(parameters).weights
        return {Group(1 + kind): round(WHOLE_WEIGHT * weight) for kind, weight in enumerate(weights)}
