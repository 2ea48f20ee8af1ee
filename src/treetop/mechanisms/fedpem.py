"""FedPEM (Alg. 1 of the paper): every party runs PEM alone, the server adds up."""

from dataclasses import dataclass
from functools import cached_property

from treetop.encoding.bit_strings import extended, level_lengths_from, root_prefix, starting_bits
from treetop.mechanisms.dialogue import AskParties, Dialogue, DivideUsers, Findings, Member, Roster, ask
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters, estimate, extension_factor, keep
from treetop.mechanisms.levels import Levels
from treetop.trie.adaptive_extension import fixed_extension
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group, equal_groups


@dataclass(frozen=True)
class FedpemParameters(TrieParameters):
    """PEM keeps the same number of prefixes at every level."""

    extension_factor: float = extension_factor()

    @cached_property
    def pem_lengths(self) -> tuple[int, ...]:
        """Return l_0 .. l_g as PEM grows them, from ceil(log2 k) bits."""
        return level_lengths_from(starting_bits(self.k), self.bits, self.levels)

    @property
    def t(self) -> int:
        """Return the prefixes that every level keeps."""
        return fixed_extension(self.k, self.extension_factor)


class Fedpem(TrieMechanism[FedpemParameters]):
    """The two dialogues of Alg. 1."""

    name = "fedpem"
    parameters = FedpemParameters

    def party(self, parameters: FedpemParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: PEM over g equal groups, from ceil(log2 k) bits, always keeping t = k prefixes."""
        lengths = parameters.pem_lengths
        yield from ask(DivideUsers(equal_groups(party.users, parameters.levels), parameters.independent))
        C = extended(root_prefix(parameters.bits), lengths[0])
        for h in range(1, parameters.levels + 1):
            domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
            ranked = yield from estimate(parameters, party, Group(h), domain)
            kept = yield from keep(parameters, h, ranked, parameters.t)
            C = kept.candidates
        return Findings(kept.positive())

    def server(self, parameters: FedpemParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: R^k, the k items with the largest summed counts."""
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names)))
        return summed([found.estimates for found in findings.values()]).top(parameters.k)

    def levels(self, parameters: FedpemParameters) -> Levels:
        """Return levels that keep t; level 1 asks about all prefixes of its length, wherever PEM starts."""
        return Levels.growing((0, *parameters.pem_lengths[1:]), max(parameters.t, parameters.least_kept))
