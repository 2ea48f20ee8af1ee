"""What a mechanism is: all that a simulation, a deployment, a command or a page asks of one.

The two dialogues, its parameters and the lengths of its levels are a mechanism's own; the rest has a default that
suits a mechanism whose server sends nothing and whose parties upload their heavy hitters once, at the end. A mechanism
of another package is a subclass in one file, declared as an entry point of the group `treetop.mechanisms`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar

from treetop.encoding.bit_strings import SHORTEST, Codes
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import Dialogue, DivideUsers, Findings, Member, Roster, Upload
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.public_facts import PublicFacts, decode_counts, encode_counts
from treetop.mechanisms.strict_json import COUNT_BYTES, code_bytes, record, require
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.privacy.shuffling import Crowd, crowds_of
from treetop.trie.candidate_domain import MAX_CANDIDATES
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.user_groups import Group, GroupSizes

Mode = Literal["one-shot", "rounds"]
MODES: tuple[Mode, ...] = ("one-shot", "rounds")
NOMINAL_USERS = 3_603_600_000
"""A party to read weights from: divisible by 1 .. 16 and by every share in thousandths."""
MIN_KEPT_IN_ROUNDS = 2
"""A device refuses a list that grew from one prefix: it would ask about that prefix alone."""

P = TypeVar("P", bound=Parameters)


class Mechanism(ABC, Generic[P]):
    """A way to find the most frequent items of a federation."""

    name: str
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
    def lengths(self, parameters: P) -> tuple[int, ...]:
        """Return l_0 = 0 .. l_g: the bits that the candidates of every level have."""

    def levels(self, parameters: P) -> int:
        """Return g."""
        return len(self.lengths(parameters)) - 1

    def max_kept(self, parameters: P) -> int | None:
        """Return the prefixes that a level keeps at most: no list of candidates grows from more. None: not known."""

    def max_candidates(self, parameters: P) -> tuple[int, ...]:
        """Return the longest list of every level, or refuse settings under which one could not be counted."""
        most_kept, lengths, kept, longest = self.max_kept(parameters), self.lengths(parameters), 1, []
        for level, (shorter, longer) in enumerate(pairwise(lengths), start=1):
            candidates = kept << (longer - shorter)
            if most_kept is None and level > 1:
                candidates = min(candidates, MAX_CANDIDATES)
            if candidates > MAX_CANDIDATES:
                raise InvalidInput(
                    f"lists of at most {MAX_CANDIDATES:,} candidates are counted, found up to {candidates:,} at level "
                    f"{level}, {longer - shorter} bits behind {kept:,} prefixes: keep fewer or ask for more levels"
                )
            longest.append(candidates)
            kept = candidates if most_kept is None else min(candidates, most_kept)
        return tuple(longest)

    def max_message_bytes(self, parameters: P) -> int:
        """Return how long a message of the server to a party can be, as `encode_message` writes it."""
        return len("null")

    def uploads(self, parameters: P) -> int:
        """Return how many uploads a party sends, its findings included."""
        return 1

    def choices(self, parameters: P) -> tuple[str, ...]:
        """Say what was chosen from public quantities, and why."""
        return ()

    def notes(self, parameters: P) -> tuple[str, ...]:
        """Say what a reader of an answer would not expect of these parameters."""
        return ()

    def ranking_notes(self, ranking: GlobalRanking) -> tuple[str, ...]:
        """Say what a reader should know of the names that were found."""
        return ()

    # A deployment's questions: before it begins.

    def task_lengths(self, parameters: P) -> tuple[int, ...]:
        """Return l_0 = 0 .. l_g: the bits of what the devices of every level report."""
        return self.lengths(parameters)

    def max_reply_bytes(self, parameters: P) -> int:
        """Return how long a reply of a party can be: the counts of all candidates of the last level, in JSON."""
        return self.max_candidates(parameters)[-1] * (code_bytes(self.lengths(parameters)[-1]) + COUNT_BYTES)

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

    def crowds(self, parameters: P, users: int) -> tuple[Crowd, ...]:
        """Return the groups that the reports of a party of so many users hide in.

        Where every report draws by itself what it is about, names and chunks together are one.
        """
        if self.reports_names:
            return crowds_of([users])
        weights = self.group_weights(parameters).values()
        return crowds_of(max(users * weight // sum(weights), 1) for weight in weights)

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

    def deployment_notes(self, parameters: P) -> tuple[str, ...]:
        """Say what a deployment does otherwise than a simulation would."""
        return ()

    # A deployment's questions: what is sent. Encoders write JSON; decoders refuse what cannot be true.

    def encode_message(self, message: object) -> Any:
        """Run by the server: a message to a party."""
        if message is not None:
            raise InvalidInput(f"a deployment of {self.name} expects encode_message and decode_message, found neither")

    def decode_message(self, facts: PublicFacts[P], content: Any) -> object:
        """Run by the party: the next message of the server; `facts` knows those before it."""
        require(content is None, "message", "none", content)
        return None

    def encode_upload(self, facts: PublicFacts[P], upload: Upload) -> Any:
        """Run by the party: an upload that is not its last."""
        raise InvalidInput(f"a deployment of {self.name} expects encode_upload and decode_upload, found neither")

    def decode_upload(self, facts: PublicFacts[P], content: Any) -> Upload:
        """Run by the server: the answer to the newest message, which is not the party's last."""
        raise InvalidInput(f"a deployment of {self.name} expects encode_upload and decode_upload, found neither")

    def encode_findings(self, facts: PublicFacts[P], findings: Findings) -> Any:
        """Run by the party: its last upload."""
        return {"counted": encode_counts(facts, findings.heavy_hitters), "pruning": {}}

    def decode_findings(self, facts: PublicFacts[P], content: Any) -> Findings:
        """Run by the server: a party's last upload."""
        fields = record("last upload", content, {"counted", "pruning"})
        counted = decode_counts(facts, facts.last_level, fields["counted"])
        record("pruning lists", fields["pruning"], set())
        return Findings(counted)

    # A deployment's questions: while it runs.

    def message_notes(self, facts: PublicFacts[P], message: object) -> tuple[str, ...]:
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
    ) -> tuple[object, tuple[str, ...]]:
        """Run by the party: what of a message may be used with groups of these sizes, and why not the rest."""
        return message, ()

    def published_prefixes(self, facts: PublicFacts[P]) -> Codes | None:
        """Run by the server: the prefixes that a party's list must grow from; None where the party chooses them."""
        return None
