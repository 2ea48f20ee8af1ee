"""TAP (Alg. 3 of the paper): the target-aligning prefix tree."""

from typing import Any, cast

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import AskParties, Dialogue, DivideUsers, Findings, HearServer, Member, Roster, ask
from treetop.mechanisms.level_steps import estimate
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.shared_trie import (
    SharedTrieMechanism,
    TapParameters,
    aggregate_shallow_tries,
    keep_adaptively,
    shallow_trie,
    tap_groups,
)
from treetop.mechanisms.strict_json import code_texts, codes, record, require
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, summed
from treetop.trie.user_groups import Group


class Tap(SharedTrieMechanism[TapParameters]):
    """The two dialogues of Alg. 3, and what they send."""

    name = "tap"
    parameters = TapParameters

    def party(self, parameters: TapParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: both phases, every extension adaptive."""
        g, g_s, lengths = parameters.levels, parameters.shared_levels, parameters.lengths
        yield from ask(DivideUsers(tap_groups(parameters, party), parameters.independent))
        own = yield from shallow_trie(parameters, party)  # phase I
        shared = yield from ask(HearServer[Codes | None]())
        C = own if shared is None else shared
        for h in range(g_s + 1, g + 1):  # phase II
            domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
            estimates = yield from estimate(parameters, Group(h), domain)
            kept = yield from keep_adaptively(parameters, h, estimates)
            C = kept.prefixes
        return Findings(CountedPrefixes.of(kept.positive(), party.users))

    def server(self, parameters: TapParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: broadcast C_{g_s}, then add up the local heavy hitters."""
        shared = yield from aggregate_shallow_tries(parameters, roster)
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, shared)))
        return summed([found.heavy_hitters for found in findings.values()]).top(parameters.k)

    def encode_message(self, message: object) -> Any:
        """Run by the server: C_{g_s}, or nothing."""
        return None if message is None else {"shared": code_texts(cast(Codes, message))}

    def decode_message(self, facts: PublicFacts[TapParameters], content: Any) -> Codes | None:
        """Run by the party: C_{g_s} in answer to its shallow trie, or nothing."""
        if content is None:
            return None
        parameters = facts.parameters
        length = parameters.lengths[parameters.shared_levels]
        prefixes = record("message", content, {"shared"})["shared"]
        shared = codes("shared prefixes", prefixes, length, parameters.bits, least=1)
        require(parameters.is_shared and len(facts.messages) == 1, "message", "none but after a shallow trie", content)
        return shared
