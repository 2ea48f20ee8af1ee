"""The texts behind hashes: parties count chunks of them, the server reads and ranks them.

The closing round takes whole-hash reports and text reports together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, chunks_of
from treetop.mechanisms.dialogue import AskParties, Dialogue, Findings, HearServer, Member, Roster, TellServer, ask
from treetop.mechanisms.hashed_names.plan import HashedParameters, HashedPlan
from treetop.mechanisms.panorama.texts import ChunkCounts, Texts, gains_of, is_utf_8
from treetop.mechanisms.summed_level import count_level, noise_scores, record_level
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.trie.candidate_domain import ChunkDomain
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, LevelEstimates, ReadText, summed
from treetop.trie.lower_confidence import scored
from treetop.trie.party_counts import PartyCounts, QuantisedCounts
from treetop.trie.significance import significant, threshold
from treetop.trie.text_recovery import Gains, recovered_text
from treetop.trie.user_groups import Group, joining_share


@dataclass(frozen=True, eq=False)
class TextsWanted:
    """Server to every party: hashes whose texts are counted, and those of them that are on no list."""

    hashes: Codes
    unread: Codes
    """The chunk counts of these are sent."""


@dataclass(frozen=True, eq=False)
class NamesWanted:
    """Server to every party: hashes whose signed counts are wanted, and the chunks of those that have a text."""

    hashes: Codes
    read: Codes
    """The hashes with a text, ascending."""
    chunks: NDArray[np.uint8]
    """One row for each of these."""


@dataclass(frozen=True)
class NamedFindings(Findings):
    """A party's last upload: its counts of the hashes, and apart from them those of the texts."""

    texts: CountedPrefixes | None = None
    """Counts by the text reports alone, of the hashes with a text."""

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return super().bits + (0 if self.texts is None else self.texts.bits)


def chunk_weights(chunks: int) -> list[float]:
    """Return how often each chunk is drawn."""
    return [1.0] * chunks


def count_texts(parameters: HashedParameters, plan: HashedPlan, party: Member) -> Dialogue[list[PartyCounts]]:
    """Run by a party: everybody left draws a chunk, the same chance for each; send those of the unread hashes."""
    wanted = yield from ask(HearServer[TextsWanted]())
    counted: list[PartyCounts] = []
    for chunk in range(plan.chunks):
        domain = ChunkDomain.behind(wanted.hashes, parameters.bits, chunk)
        group, share = Group(plan.search.L + 1 + chunk), joining_share(chunk_weights(plan.chunks), chunk + 1)
        counts = yield from count_level(party, group, share, domain, parameters.oracle_for(len(domain)))
        yield from record_level(group.level, counts, len(wanted.unread))
        counted.append(counts)
    sent = np.isin(domain.prefixes >> CHUNK_BITS, wanted.unread)
    chunks = tuple(QuantisedCounts.of(counts.counts[sent], counts.deviation) for counts in counted)
    yield from ask(TellServer(ChunkCounts(chunks)))
    return counted


def read_texts(
    parameters: HashedParameters,
    plan: HashedPlan,
    roster: Roster,
    hashes: Codes,
    *,
    read: Texts,
    expected: Mapping[str, Frequencies],
) -> Dialogue[Texts]:
    """Run by the server: ask for the chunks behind hashes without a text, and walk over the likeliest texts."""
    unread = np.array([code not in read for code in hashes.tolist()], dtype=np.bool_)
    wanted = TextsWanted(hashes, hashes[unread])
    uploads = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, wanted)))
    gains = np.zeros((int(unread.sum()), plan.chunks, CHUNK_VALUES))
    for name, sent in uploads.items():
        gains += gains_of(sent, expected[name][unread])
    codec = Hashed(parameters.bits, parameters.hash_key)
    found = {code: text_behind(code, rows, codec) for code, rows in zip(wanted.unread.tolist(), gains, strict=True)}
    return {code: ReadText(text, "recovered") for code, text in found.items() if text is not None}


def text_behind(code: int, gains: Gains, codec: Hashed) -> bytes | None:
    """Run by the server: the likeliest text in UTF-8 whose salted hash is this code, or None."""
    return recovered_text(gains, lambda text: codec.hash_of(text) == code and is_utf_8(text), codec.bits)


def names_wanted(parameters: HashedParameters, plan: HashedPlan, hashes: Codes, read: Texts) -> NamesWanted:
    """Run by the server: the hashes, and the chunks of every text that it has read, from a list or by the walk."""
    codes = sorted(read)
    chunks = np.frombuffer(b"".join(chunks_of(read[code].text, plan.chunks) for code in codes), dtype=np.uint8)
    return NamesWanted(hashes, code_array(codes, parameters.bits), chunks.reshape(len(codes), plan.chunks))


def pooled_chunks(counted: list[PartyCounts], wanted: NamesWanted) -> CountedPrefixes:
    """Run by a party: the share of text reports that name each whole text, all its chunks together."""
    reports = sum(counts.reports for counts in counted)
    named = np.zeros(len(wanted.read))
    for chunk, counts in enumerate(counted):
        values = (wanted.read << CHUNK_BITS) | wanted.chunks[:, chunk].astype(wanted.read.dtype)
        named += counts.reports * counts.frequencies[np.searchsorted(counts.prefixes, values)]
    first = counted[0]
    read = wanted.read if reports else wanted.read[:0]
    estimates = LevelEstimates(first.length, read, named[: len(read)] / max(reports, 1), reports, first.oracle)
    return CountedPrefixes.of(estimates, first.users, asked_for=True)


@dataclass(frozen=True, eq=False)
class PooledCounts:
    """One party's counts by all reports that name each hash, in ascending order of hashes."""

    counted: CountedPrefixes
    noise: Frequencies
    """Variance of the count of a hash that nobody holds."""

    @classmethod
    def of(cls, found: NamedFindings, users: int, oracle: FrequencyOracle[Any]) -> "PooledCounts":
        """Weigh both counts of a read text by their reports; a hash without a text has one count only."""
        whole = found.heavy_hitters
        order = np.argsort(whole.prefixes)
        counts, variances = whole.counts[order], whole.variances[order]
        reports = np.full(len(counts), whole.reports, dtype=np.float64)
        if found.texts is not None and len(found.texts):
            texts, r, t = found.texts, whole.reports, found.texts.reports
            read = np.searchsorted(whole.prefixes[order], texts.prefixes)
            counts[read] = (r * counts[read] + t * texts.counts) / (r + t)
            variances[read] = (r**2 * variances[read] + t**2 * texts.variances) / (r + t) ** 2
            reports[read] = r + t
        counted = replace(whole, prefixes=whole.prefixes[order], counts=counts, variances=variances)
        return cls(counted, users**2 * oracle.variance(0.0, 1) / reports)


def named_ranking(
    parameters: HashedParameters,
    roster: Roster,
    findings: Mapping[str, NamedFindings],
    read: Texts,
    candidates: int,
    *,
    zeta: float,
) -> GlobalRanking:
    """Run by the server: the k best items, those without a name only where noise would hardly show them.

    Counts pool all reports that name an item; whether it stands out is tested on the reports of the whole hash alone,
    whose candidates are known. A hash without a text that does not stand out gives way to any item with a name.
    """
    oracle = parameters.oracle_for(candidates)
    sizes = {member.name: member.users for member in roster.members}
    present = {name: found for name, found in findings.items() if found.heavy_hitters.reports}
    if not present:
        return replace(summed([found.heavy_hitters for found in findings.values()]), texts=np.empty(0, dtype=object))
    pooled = [PooledCounts.of(found, sizes[name], oracle) for name, found in present.items()]
    ranking = summed([party.counted for party in pooled])
    noise = noise_scores([found.heavy_hitters for found in present.values()], [sizes[name] for name in present], oracle)
    plain_sum = parameters.score == "sum"
    z = threshold(len(present), candidates, plain_sum)
    marks = significant(noise, z, plain_sum)
    texts = texts_of(ranking, read)
    order = by_score(pooled, texts, marks, zeta, parameters)
    return replace(ranking, significant=marks, z=z, texts=texts).at(order[: parameters.k]).top(parameters.k)


def texts_of(ranking: GlobalRanking, read: Texts) -> NDArray[Any]:
    """Return the text of every hash of a ranking, or None."""
    texts = np.empty(len(ranking), dtype=object)
    texts[:] = [read.get(code) for code in ranking.prefixes.tolist()]
    return texts


def by_score(
    pooled: list[PooledCounts], texts: NDArray[Any], marks: NDArray[np.bool_], zeta: float, parameters: HashedParameters
) -> NDArray[np.int64]:
    """Return the indices of the hashes, the best lower bound first; doubtful ones without a name come last."""
    counts = np.array([party.counted.counts for party in pooled]).T
    noise = np.array([party.noise for party in pooled]).T
    scores = np.array(
        [
            scored(row[None], variances, zeta, parameters.score).scores[0]
            for row, variances in zip(counts, noise, strict=True)
        ]
    )
    doubtful = np.array([text is None for text in texts]) & ~marks
    return np.lexsort((-scores, doubtful))
