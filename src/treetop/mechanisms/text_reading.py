"""The text round of hashed names: parties count chunks, the server reads texts from them."""

from collections.abc import Mapping

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, chunks_of
from treetop.mechanisms.dialogue import Dialogue, ask
from treetop.mechanisms.hashed_messages import ChunkCounts, NamesWanted, TextsWanted
from treetop.mechanisms.hashed_plan import HashedPlan
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import AskParties, HearServer, TellServer
from treetop.mechanisms.roster import Member, Roster
from treetop.mechanisms.summed_level import count_level, record_level
from treetop.oracles.tallies import Frequencies
from treetop.trie.candidate_domain import ChunkDomain
from treetop.trie.global_ranking import CountedPrefixes, ReadText
from treetop.trie.level_estimates import LevelEstimates
from treetop.trie.level_weights import joining_share
from treetop.trie.party_counts import PartyCounts
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.text_recovery import Gains, log_likelihood_gains, recovered_text
from treetop.trie.user_groups import Group

Texts = dict[int, ReadText]
"""The text of every hash that has been read."""


def chunk_weights(chunks: int) -> list[float]:
    """Return how often each chunk is drawn."""
    return [1.0] * chunks


def count_texts(parameters: Parameters, plan: HashedPlan, party: Member) -> Dialogue[list[PartyCounts]]:
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
    parameters: Parameters, roster: Roster, hashes: Codes, read: Texts, expected: Mapping[str, Frequencies]
) -> Dialogue[Texts]:
    """Run by the server: ask for the chunks behind hashes without a text, and walk over the likeliest texts."""
    unread = np.array([code not in read for code in hashes.tolist()], dtype=np.bool_)
    wanted = TextsWanted(hashes, hashes[unread])
    uploads = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, wanted)))
    gains = np.zeros((int(unread.sum()), parameters.text_chunks, CHUNK_VALUES))
    for name, sent in uploads.items():
        gains += gains_of(sent, expected[name][unread])
    codec = Hashed(parameters.bits, parameters.hash_key)
    found = {code: text_behind(code, rows, codec) for code, rows in zip(wanted.unread.tolist(), gains, strict=True)}
    return {code: ReadText(text, "recovered") for code, text in found.items() if text is not None}


def gains_of(sent: ChunkCounts, expected: Frequencies) -> Gains:
    """Run by the server: what one party's chunk counts say for every value behind every hash."""
    rows = [
        np.zeros((len(expected), CHUNK_VALUES))
        if chunk.missing
        else log_likelihood_gains(chunk.counts.reshape(len(expected), CHUNK_VALUES), chunk.variance, expected)
        for chunk in sent.chunks
    ]
    return np.stack(rows, axis=1)


def text_behind(code: int, gains: Gains, codec: Hashed) -> bytes | None:
    """Run by the server: the likeliest text in UTF-8 whose salted hash is this code, or None."""
    return recovered_text(gains, lambda text: codec.hash_of(text) == code and is_utf_8(text))


def is_utf_8(text: bytes) -> bool:
    """Return whether bytes are a text that somebody could have typed."""
    try:
        return bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def names_wanted(parameters: Parameters, hashes: Codes, read: Texts) -> NamesWanted:
    """Run by the server: the hashes, and the chunks of every text that it has read, from a list or by the walk."""
    codes = sorted(read)
    chunks = np.frombuffer(
        b"".join(chunks_of(read[code].text, parameters.text_chunks) for code in codes), dtype=np.uint8
    )
    return NamesWanted(hashes, code_array(codes, parameters.bits), chunks.reshape(len(codes), parameters.text_chunks))


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
