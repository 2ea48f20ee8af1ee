"""GTF (Shao, Han, He, Luo 2023), with k-RR and a dummy in place of GRRX."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, bit_lengths, hamming_distances, root_prefix
from treetop.mechanisms.dialogue import AskParties, Dialogue, DivideUsers, Findings, Member, Roster, ask
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters, estimate, keep
from treetop.mechanisms.levels import Levels
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, LevelEstimates, summed
from treetop.trie.user_groups import Group, ramped_groups


class Gtf(TrieMechanism[TrieParameters]):
    """The two dialogues."""

    name = "gtf"
    parameters = TrieParameters

    def party(self, parameters: TrieParameters, roster: Roster, party: Member) -> Dialogue[Findings]:  # noqa: ARG002
        """Run by a party: a trie from length 0 with growing groups; the whole positive last level goes up."""
        lengths = parameters.lengths
        yield from ask(DivideUsers(ramped_groups(party.users, parameters.levels), parameters.independent))
        C = root_prefix(parameters.bits)
        for h in range(1, parameters.levels + 1):
            domain = CandidateDomain.extending(C, lengths[h - 1], lengths[h])
            estimates = yield from estimate(parameters, Group(h), domain)
            kept = yield from keep(parameters, h, estimates, positives_to_extend(estimates, parameters.k))
            C = kept.prefixes
        return Findings(CountedPrefixes.of(estimates.positive(), party.users))

    def server(self, parameters: TrieParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: rank by summed shares, then delete items that are too alike."""
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names)))
        uploads = [found.heavy_hitters for found in findings.values()]
        sizes = [member.users for member in roster.members if member.name in findings]
        ranking = summed(uploads)
        scores = summed_shares(ranking.prefixes, uploads, sizes, parameters.k)
        candidates = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        kept = filter_alike(ranking.prefixes[candidates], parameters.k)
        best = candidates[kept]
        return replace(ranking.at(best), entry=entry_of(scores[best], uploads, sizes, parameters.k))

    def levels(self, parameters: TrieParameters) -> Levels:
        """Return levels that extend k prefixes at most: the positive ones."""
        return Levels.growing(parameters.lengths, max(parameters.k, parameters.least_kept))


def positives_to_extend(estimates: LevelEstimates, k: int) -> int:
    """Return how many prefixes are extended: the top k positive ones, or the best one if none is positive."""
    return max(1, min(k, len(estimates.positive())))


def summed_shares(prefixes: Codes, uploads: list[CountedPrefixes], sizes: list[int], k: int) -> Frequencies:
    """Return every prefix's score: for counts above k, count / (sum of all counts that party sent).

    GTF counts in estimated reports of the last group, f r = (f n) r / n.
    """
    scores = np.zeros(len(prefixes))
    for upload, users in zip(uploads, sizes, strict=True):
        counts = upload.counts * upload.reports / users
        counted = counts > k
        found = np.searchsorted(prefixes, upload.prefixes[counted])
        scores[found] += counts[counted] / counts.sum()
    return scores


def entry_of(scores: Frequencies, uploads: list[CountedPrefixes], sizes: list[int], k: int) -> float | None:
    """Return the least count at one party that the last score takes: a share c / (C + c) of what the party sends.

    Sizes of parties do not matter, so the smallest is enough.
    """
    if not len(scores) or scores[-1] >= 1:
        return None
    needed = [
        max(float(upload.counts.sum()) * scores[-1] / (1 - scores[-1]), k * users / upload.reports)
        for upload, users in zip(uploads, sizes, strict=True)
        if upload.reports
    ]
    return min(needed, default=None)


def filter_alike(ranked: Codes, k: int) -> NDArray[np.int64]:
    """Return the indices of the items kept, k at most.

    Walk down the list: an item not deleted is kept, and every later item within a Hamming distance of half the
    smaller bit length is deleted, as long as (candidates) - (deletions so far) > k. A repeated deletion of the
    same item counts again, as in the authors' code.
    """
    lengths = np.maximum(bit_lengths(ranked), 1)
    deleted = np.zeros(len(ranked), dtype=np.bool_)
    spare = len(ranked) - k
    kept: list[int] = []
    for index, code in enumerate(ranked):
        if deleted[index] or len(kept) == k:
            continue
        kept.append(index)
        later = slice(index + 1, None)
        alike = 2 * hamming_distances(code, ranked[later]) <= np.minimum(lengths[index], lengths[later])
        doomed = np.flatnonzero(alike)[: max(spare, 0)]
        deleted[index + 1 + doomed] = True
        spare -= len(doomed)
    return np.array(kept, dtype=np.int64)
