"""What mechanisms say to the reader of an answer: what was chosen and why, and what nobody would expect."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from treetop.encoding.item_codecs import shared_hash_chance
from treetop.mechanisms.parameters import P
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.wire.taps import Continue
from treetop.oracles.registry import AUTO, oracle_named, set_form
from treetop.trie.global_ranking import GlobalRanking
from treetop.wording import Note

if TYPE_CHECKING:
    from treetop.mechanisms.canopy import CanopyParameters
    from treetop.mechanisms.panorama.algorithm import Panorama
    from treetop.mechanisms.panorama.parameters import PanoramaParameters
    from treetop.mechanisms.taps import TapsParameters

NOISIER = 3.0
"""Times the variance of the best oracle at which a reader of Canopy's answer is told."""
WORTH_SAYING = 0.0005
"""Share of items whose hash is also another's, from which on a reader of Panorama's answer is told."""


@dataclass(frozen=True)
class Notes(Generic[P]):
    """Nothing but that a mechanism shares, where it does."""

    shares: bool = False
    """Whether parties learn from each other before the end."""

    def choices(self, parameters: P) -> tuple[Note, ...]:
        """Say what was chosen from public quantities, and why."""
        return ()

    def of_parameters(self, parameters: P) -> tuple[Note, ...]:
        """Say what a reader of an answer would not expect of these parameters."""
        return ()

    def of_parties(self, mechanism: str, parties: int) -> tuple[Note, ...]:
        """Say so where a party of a mechanism that shares is alone."""
        if not self.shares or parties > 1:
            return ()
        return (Note("nobody_to_share_with", mechanism=mechanism),)

    def of_deployment(self, parameters: P) -> tuple[Note, ...]:
        """Say what a deployment does otherwise than a simulation would."""
        return ()

    def of_message(self, facts: PublicFacts[P], message: object) -> tuple[Note, ...]:
        """Run by the server: say what a reader of the answer should know about a message to a party."""
        return ()

    def of_ranking(self, ranking: GlobalRanking) -> tuple[Note, ...]:
        """Say what a reader should know of the names that were found."""
        return ()


class TapsNotes(Notes["TapsParameters"]):
    """Whose list a party prunes with."""

    def of_message(self, facts: PublicFacts["TapsParameters"], message: object) -> tuple[Note, ...]:
        """Run by the server: say so where a party gets the lists of another than the one before it."""
        previous = facts.roster.previous(facts.member)
        if not isinstance(message, Continue) or not message.D or previous is None or message.author == previous.name:
            return ()
        return (
            Note("prunes_with_another_list", missing=previous.name, party=facts.member.name, author=message.author),
        )


class CanopyNotes(Notes["CanopyParameters"]):
    """The levels that were planned, and their oracle."""

    def choices(self, parameters: "CanopyParameters") -> tuple[Note, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        plan = parameters.plan
        widest = max(plan.max_candidates)
        oracle = parameters.oracle_for(widest)
        limited = plan.step_bits < parameters.step_bits
        budget = parameters.upload_budget if limited else None
        least = None if parameters.kept else parameters.min_kept
        return (
            Note("canopy_levels", levels=plan.L, step_bits=plan.step_bits, bits=parameters.bits, budget=budget),
            Note("canopy_kept", kept=plan.kept, least=least, candidates=widest),
            Note("canopy_oracle", oracle=oracle.name, reason=parameters.oracle_reason(widest)),
            Note("canopy_weights", weights=parameters.weights),
            Note("upload_at_most", bits=plan.expected_bits(parameters.k)),
        )

    def of_parameters(self, parameters: "CanopyParameters") -> tuple[Note, ...]:
        """Say so where an oracle was asked for that is bad at so many slots."""
        widest = max(parameters.plan.max_candidates)
        best = oracle_named(set_form(AUTO, parameters.items_per_user), parameters.epsilon, widest)
        oracle = parameters.oracle_for(widest)
        if oracle.variance(0.0, 1) < NOISIER * best.variance(0.0, 1):
            return ()
        return (Note("canopy_noisy_oracle", oracle=oracle.name),)

    def of_deployment(self, parameters: "CanopyParameters") -> tuple[Note, ...]:
        """Say which weights were taken."""
        return (Note("canopy_public_weights", weights=parameters.weights),)


@dataclass(frozen=True)
class PanoramaNotes(Notes["PanoramaParameters"]):
    """What everybody reports over one list, and how far down a party looks."""

    panorama: "Panorama" = field(kw_only=True)

    def choices(self, parameters: "PanoramaParameters") -> tuple[Note, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        panorama = self.panorama
        oracle = panorama.oracle(parameters).name
        if panorama.is_catalogue:
            return (Note("panorama_catalogue", items=len(panorama.listed), oracle=oracle),)
        choices = [
            Note(
                "panorama_reports",
                bits=parameters.bits,
                hashed=panorama.listed.texts is not None,
                oracle=oracle,
                text_share=parameters.rho if panorama.texts else 0.0,
                chunks=parameters.text_chunks,
            )
        ]
        chance = shared_hash_chance(parameters.expected_items, parameters.bits)
        if chance > WORTH_SAYING:
            choices.append(Note("hashes_shared", items=parameters.expected_items, chance=chance))
        choices.append(
            Note("panorama_upload", tau=panorama.expected_plan(parameters).tau, bits=self._expected_bits(parameters))
        )
        return tuple(choices)

    def of_parameters(self, parameters: "PanoramaParameters") -> tuple[Note, ...]:
        """Note a budget of a party's upload that is too small for what is asked."""
        needed = self._expected_bits(parameters)
        if not self.panorama.discovers or not parameters.upload_budget or needed <= parameters.upload_budget:
            return ()
        return (Note("upload_budget_exceeded", needed=needed, budget=parameters.upload_budget),)

    def _expected_bits(self, parameters: "PanoramaParameters") -> int:
        plan = self.panorama.expected_plan(parameters)
        return plan.expected_bits(parameters, len(self.panorama.listed), signed=False)

    def of_ranking(self, ranking: GlobalRanking) -> tuple[Note, ...]:
        """Note the names of the answer that are several words, between which the list cannot decide."""
        shown = sum(name in self.panorama.listed.undecided for name in ranking.prefixes.tolist())
        if not shown:
            return ()
        return (Note("words_share_hash", names=shown),)
