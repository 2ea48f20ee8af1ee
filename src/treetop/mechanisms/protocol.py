"""What a mechanism is: all that a simulation, a deployment, a command or a page asks of one.

The two dialogues, its parameters and the lengths of its levels are a mechanism's own; the rest has a default that
suits a mechanism whose server sends nothing and whose parties upload their heavy hitters once, at the end. A mechanism
of another package is a subclass in one file, declared as an entry point of the group `treetop.mechanisms`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, Literal

from treetop.encoding.bit_strings import SHORTEST
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import Dialogue, DivideUsers, Findings, Member, Roster
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.parameters import P
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.wire.form import WireForm
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.user_groups import Group, GroupSizes
from treetop.wording import Note

Mode = Literal["one-shot", "rounds"]
MODES: tuple[Mode, ...] = ("one-shot", "rounds")
NOMINAL_USERS = 3_603_600_000
"""A party to read weights from: divisible by 1 .. 16 and by every share in thousandths."""
MIN_KEPT_IN_ROUNDS = 2
"""A device refuses a list that grew from one prefix: it would ask about that prefix alone."""


class Mechanism(ABC, Generic[P]):
    """A way to find the most frequent items of a federation."""

    name: str
    wire: WireForm[P] = WireForm()
    """How its messages and uploads are written and read."""
    shares: bool = False
    """Whether parties learn from each other before the end."""
    modes: tuple[Mode, ...] = MODES
    """How it can be deployed; none: it can be simulated only."""
    tolerates_small_groups: bool = False
    """Whether a level with too few reports is left out; otherwise its party withdraws."""
    reports_names: bool = False
    """Whether devices report whole names and parts of texts behind them (`CollectNames`), instead of prefixes."""
    hashing_oracle: str = OptimizedLocalHashing.name
    """What the oracle `auto` is where devices hash what they report (one-shot)."""
    prunes: bool = False
    """Whether its candidate lists may leave out children of the level before, and say so."""
    tiny_settings: Mapping[str, object] = {"bits": SHORTEST}
    """Settings that leave a user few possible answers: the audit enumerates them all."""

    @property
    @abstractmethod
    def parameters(self) -> type[P]:
        """Return the class of its parameters, whose fields are its settings."""

    @abstractmethod
    def server(self, parameters: P, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: ask the parties and rank what they found."""

    @abstractmethod
    def party(self, parameters: P, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: ask its users, each once, and return what is uploaded last."""

    @abstractmethod
    def levels(self, parameters: P) -> Levels:
        """Return the levels of its candidates, or refuse settings under which they could not be counted."""

    def choices(self, parameters: P) -> tuple[Note, ...]:
        """Say what was chosen from public quantities, and why."""
        return ()

    def notes(self, parameters: P) -> tuple[Note, ...]:
        """Say what a reader of an answer would not expect of these parameters."""
        return ()

    def ranking_notes(self, ranking: GlobalRanking) -> tuple[Note, ...]:
        """Say what a reader should know of the names that were found."""
        return ()

    # A deployment's questions: before it begins.

    def task_lengths(self, parameters: P) -> tuple[int, ...]:
        """Return l_0 = 0 .. l_g: the bits of what the devices of every level report."""
        return self.levels(parameters).lengths

    def group_weights(self, parameters: P) -> GroupSizes:
        """Return the weights by which a device draws its group: how a party divides a very large number of users.

        The second of two parties is asked: the first one may have fewer roles to give.
        """
        roster = Roster((Member("first", NOMINAL_USERS), Member("second", NOMINAL_USERS)))
        request = next(self.party(parameters, roster, roster.members[1]))
        if not isinstance(request, DivideUsers):
            raise InvalidInput(
                f"a deployment of {self.name} expects group_weights, since users are not divided at once"
            )
        return request.sizes

    def group_sizes(self, parameters: P, users: int) -> tuple[int, ...]:
        """Return how many reports each group of a party is expected to have: the crowds that reports hide in.

        Where every report draws by itself what it is about, names and chunks together are one group.
        """
        if self.reports_names:
            return (users,)
        weights = self.group_weights(parameters).values()
        return tuple(max(users * weight // sum(weights), 1) for weight in weights)

    def deployment_settings(self, settings: Mapping[str, object], *, mode: Mode, hashed: bool) -> dict[str, object]:
        """Return settings with what a deployment fixes: devices draw their own groups, from weights known beforehand.

        `hashed`: codes are hashes and share their prefixes by chance alone.
        """
        if settings.get("groups", "independent") != "independent":
            raise InvalidInput(
                "devices draw their own groups: the setting 'groups' must be independent in a federation"
            )
        known, fixed = self.parameters.settings(), dict(settings)
        if "groups" in known:
            fixed["groups"] = "independent"
        if mode == "rounds" and "least_kept" in known:
            least = known["least_kept"].parse("least_kept", settings.get("least_kept", 1))
            fixed["least_kept"] = max(least, MIN_KEPT_IN_ROUNDS)
        return fixed

    def deployment_notes(self, parameters: P) -> tuple[Note, ...]:
        """Say what a deployment does otherwise than a simulation would."""
        return ()

    # A deployment's questions: while it runs.

    def message_notes(self, facts: PublicFacts[P], message: object) -> tuple[Note, ...]:
        """Run by the server: say what a reader of the answer should know about a message to a party."""
        return ()

    def validates(self, facts: PublicFacts[P]) -> bool:
        """Run by the party: whether its validation sets are needed for another party's lists."""
        return False

    def usable(
        self,
        facts: PublicFacts[P],
        message: object,
        groups: Mapping[Group, int],
        min_validation: int,
    ) -> tuple[object, tuple[Note, ...]]:
        """Run by the party: what of a message may be used with groups of these sizes, and why not the rest."""
        return message, ()
