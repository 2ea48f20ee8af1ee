"""What holds for every input."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treetop.encoding.bit_strings import code_array, prefixes_of
from treetop.encoding.item_codecs import Hashed, Ids, Text, Words
from treetop.trie.consensus_pruning import consensus, pruned_domain
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group, equal_groups, ramped_groups, two_phase_groups, with_validation_sets

BITS = st.integers(8, 256)
WHOLE_BYTES = st.integers(1, 32).map(lambda count: 8 * count)


@given(BITS, st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=60))
def test_words_read_back_up_to_their_length(bits: int, word: str) -> None:
    words = Words(bits)
    encoded = words.encode([word])
    assert encoded.fits.all()
    assert 0 < int(encoded.codes[0]) < 1 << bits
    assert words.decode(int(encoded.codes[0])) == word[: words.letters]
    assert encoded.shortened == (len(word) > words.letters)


@given(BITS, st.data())
def test_word_codes_are_one_to_one(bits: int, data: st.DataObject) -> None:
    words = Words(bits)
    code = data.draw(st.integers(1, (1 << bits) - 1))
    word = words.decode(code)
    if word is not None:
        assert words.encode([word]).codes.tolist() == [code]


@given(BITS, st.data())
def test_ids_read_back(bits: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, (1 << bits) - 1))
    codec = Ids(bits)
    encoded = codec.encode([str(number), str(1 << bits)])
    assert encoded.fits.tolist() == [True, False]
    assert codec.decode(int(encoded.codes[0])) == str(number)


@given(WHOLE_BYTES, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_text_reads_back_up_to_its_length(bits: int, item: str) -> None:
    codec = Text(bits)
    encoded = codec.encode([item])
    if encoded.fits[0]:
        read = codec.decode(int(encoded.codes[0]))
        assert read is not None
        assert item.startswith(read)
        assert (read == item) == (len(item.encode()) * 8 <= bits) == (encoded.shortened == 0)
    else:
        assert len(item[0].encode()) * 8 > bits


@given(BITS, st.lists(st.text(), max_size=20, unique=True))
def test_every_item_has_a_hash(bits: int, items: list[str]) -> None:
    encoded = Hashed(bits).encode(items)
    assert encoded.fits.all()
    assert all(0 <= code < 1 << bits for code in encoded.codes.tolist())


@given(st.text(), BITS)
def test_no_item_makes_a_codec_fail(item: str, bits: int) -> None:
    for codec in (Words(bits), Ids(bits), Text(8 * (bits // 8)), Hashed(bits)):
        encoded = codec.encode([item])
        assert len(encoded.codes) == len(encoded.fits) == 1
        assert isinstance(codec.show(int(encoded.codes[0])), str)


@given(BITS, st.sets(st.integers(0, 255), min_size=1), st.integers(0, 6))
def test_a_domain_holds_exactly_the_descendants_of_what_was_kept(bits: int, kept: set[int], step: int) -> None:
    domain = CandidateDomain.extending(code_array(kept, bits), 8, 8 + step)
    assert len(domain) == len(kept) << step
    assert set(prefixes_of(domain.prefixes, 8 + step, 8).tolist()) == kept


@given(st.integers(0, 10**9), st.integers(1, 64), st.floats(0.01, 0.99), st.floats(0.01, 0.25), st.data())
def test_groups_are_always_a_partition(users: int, levels: int, share: float, beta: float, data: st.DataObject) -> None:
    shared = data.draw(st.integers(0, levels - 1))
    two_phases = two_phase_groups(users, levels, shared, share)
    pruned = data.draw(st.lists(st.integers(1, levels), unique=True))
    for sizes in (
        equal_groups(users, levels),
        ramped_groups(users, levels),
        two_phases,
        with_validation_sets(two_phases, pruned, beta),
    ):
        assert sum(sizes.values()) == users
        assert min(sizes.values()) >= 0
        assert {Group(level) for level in range(1, levels + 1)} <= set(sizes)


@given(
    st.sets(st.integers(0, 63), min_size=1),
    st.sets(st.integers(0, 63)),
    st.sets(st.integers(0, 63)),
    st.integers(1, 16),
)
def test_pruning_never_empties_a_domain(domain: set[int], one: set[int], two: set[int], least: int) -> None:
    whole = CandidateDomain(6, code_array(sorted(domain), 48))
    remaining, pruned = pruned_domain(whole, code_array(one, 48), code_array(two, 48), least)
    assert set(remaining.prefixes.tolist()) == (domain - one - two if pruned else domain)
    assert len(remaining) >= (least if pruned else 1)


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(1, 6), st.floats(0.1, 8), st.floats(0, 1))
def test_consensus_prunes_only_what_both_rank_first(
    one: list[int], two: list[int], k: int, epsilon: float, gamma: float
) -> None:
    agreed = consensus(code_array(one, 48), code_array(two, 48), k, epsilon, gamma)
    assert len(agreed) <= k
    assert set(agreed.tolist()) <= set(one[:k]) & set(two[:k])
    assert np.all(np.diff(agreed.astype(np.int64)) > 0)
