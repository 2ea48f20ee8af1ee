"""GTF (Shao, Han, He, Luo 2023), with k-RR and a dummy in place of GRRX."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, bit_lengths, hamming_distances, root_prefix
from treetop.mechanisms.dialogue import AskParties, Dialogue, DivideUsers, Findings, Member, Roster, ask
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters, estimate, keep
from treetop.mechanisms.levels import Levels
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain, Support
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
            ranked = yield from estimate(parameters, party, Group(h), domain)
            kept = yield from keep(parameters, h, ranked, positives_to_extend(ranked, parameters.k))
            C = kept.candidates
        return Findings(ranked.positive())

    def server(self, parameters: TrieParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: rank by summed shares, then delete items that are too alike."""
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names)))
        uploads = [found.heavy_hitters for found in findings.values()]
        ranking = summed([found.estimates for found in findings.values()])
        scores = summed_shares(ranking.prefixes, uploads, parameters.k)
        candidates = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        kept = filter_alike(ranking.prefixes[candidates], parameters.k)
        best = candidates[kept]
        return replace(ranking.at(best), entry=entry_of(scores[best], uploads, parameters.k))

    def levels(self, parameters: TrieParameters) -> Levels:
        """Return levels that extend k prefixes at most: the positive ones."""
        return Levels.growing(parameters.lengths, max(parameters.k, parameters.least_kept))


def positives_to_extend(ranked: Support, k: int) -> int:
    """Return how many prefixes are extended: the top k positive ones, or the best one if none is positive."""
    return max(1, min(k, len(ranked.positive())))


def summed_shares(prefixes: Codes, uploads: list[Support], k: int) -> Frequencies:
    """Return every prefix's score: for counts above k, count / (sum of all counts that party sent).

    GTF counts in estimated reports of the last group, f r = (f n) r / n.
    """
    scores = np.zeros(len(prefixes))
    for upload in uploads:
        counts = upload.counts * upload.reports / upload.users
        counted = counts > k
        index = np.searchsorted(prefixes, upload.candidates[counted])
        scores[index] += counts[counted] / counts.sum()
    return scores


def entry_of(scores: Frequencies, uploads: list[Support], k: int) -> float | None:
    """Return the least count at one party that the last score takes: a share c / (C + c) of what the party sends.

    Sizes of parties do not matter, so the smallest is enough.
    """
    if not len(scores) or scores[-1] >= 1:
        return None
    needed = [
        max(float(upload.counts.sum()) * scores[-1] / (1 - scores[-1]), k * upload.users / upload.reports)
        for upload in uploads
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
