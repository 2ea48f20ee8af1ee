"""Lockstep: the parties grow one prefix tree together; after every level the server says which prefixes go on."""

from dataclasses import dataclass
from typing import Any

from treetop.mechanisms import (
    AskParties, CandidateDomain, Codes, Dialogue, DivideUsers, Findings, GlobalRanking, Group, HearServer, Levels,
    Member, Notes, PublicFacts, Roster, Support, TellServer, TrieMechanism, TrieParameters, WireForm, ask, code_texts,
    codes, decode_counts, encode_counts, equal_groups, estimate, keep, root_prefix, setting, summed, whole_number,
)  # fmt: skip


@dataclass(frozen=True)
class LockstepParameters(TrieParameters):
    levels: int = setting(6, "g", "Levels of the trie; the step is m / g bits.", whole_number(1, 64))
    keep_factor: int = setting(2, "", "Multiple of k that every level of lockstep keeps.", whole_number(2, 100))

    @property
    def kept(self) -> int:
        return max(self.keep_factor * self.k, self.least_kept)


class LockstepWire(WireForm[LockstepParameters]):
    """Down go the prefixes of the level uploaded last, or none; up go the counts of every level."""

    def uploads(self, parameters: LockstepParameters) -> int:
        return parameters.levels

    def encode_message(self, message: Any) -> Any:
        return None if message is None else code_texts(message)

    def decode_message(self, facts: PublicFacts[LockstepParameters], content: Any) -> Codes | None:
        """Run by the party: prefixes of the level that it uploaded last, or none."""
        if content is None:
            return None
        length, parameters = facts.lengths[len(facts.messages)], facts.parameters
        return codes("prefixes", content, length, parameters.bits, least=parameters.least_kept, most=parameters.kept)

    def published_prefixes(self, facts: PublicFacts[LockstepParameters]) -> Any:
        """Run by the server in rounds: a list grows from the prefixes of the newest message, where it had any."""
        return facts.messages[-1]

    def encode_upload(self, facts: PublicFacts[LockstepParameters], upload: Any) -> Any:
        return encode_counts(upload)

    def decode_upload(self, facts: PublicFacts[LockstepParameters], content: Any) -> Support:
        """Run by the server: counts of the level that its newest message began."""
        return decode_counts(facts, len(facts.messages), content)


class Lockstep(TrieMechanism[LockstepParameters]):
    name = "lockstep"
    parameters = LockstepParameters
    wire = LockstepWire()
    notes = Notes(shares=True)

    def party(self, parameters: LockstepParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: count the children of the shared prefixes, level by level, each with other users."""
        lengths, kept = parameters.lengths, root_prefix(parameters.bits)
        yield from ask(DivideUsers(equal_groups(party.users, parameters.levels), parameters.independent))
        for h in range(1, parameters.levels + 1):
            shared = yield from ask(HearServer[Codes | None]())
            domain = CandidateDomain.extending(kept if shared is None else shared, lengths[h - 1], lengths[h])
            ranked = yield from estimate(parameters, party, Group(h), domain)
            best = yield from keep(parameters, h, ranked, parameters.kept)
            kept = best.candidates
            if h < parameters.levels:
                yield from ask(TellServer(best.positive()))
        return Findings(best.positive())

    def server(self, parameters: LockstepParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: add up every level; where too little was found, each party goes on from its own."""
        shared: Codes | None = None
        for _ in range(1, parameters.levels):
            uploads = yield from ask(AskParties[Support](dict.fromkeys(roster.names, shared)))
            best = summed([upload.estimates for upload in uploads.values()]).top(parameters.kept).prefixes
            shared = best if len(best) >= parameters.least_kept else None
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, shared)))
        return summed([found.estimates for found in findings.values()]).top(parameters.k)

    def levels(self, parameters: LockstepParameters) -> Levels:
        return Levels.growing(parameters.lengths, parameters.kept)
