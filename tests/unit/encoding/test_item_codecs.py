import pytest
from tests.support.refusals import refused

from treetop.encoding.item_codecs import Hashed, Ids, Text, Words, codec_named
from treetop.errors import InvalidInput, UnknownName


def codes(codec: object, *items: str) -> list[int]:
    return codec.encode(items).codes.tolist()  # type: ignore[attr-defined, no-any-return]


def test_words_are_bijective_base_26() -> None:
    assert codes(Words(48), "a", "z", "aa", "the") == [1, 26, 27, (20 * 26 + 8) * 26 + 5]


def test_words_hold_ten_letters_at_48_bits() -> None:
    words = Words(48)
    assert words.letters == 10
    assert codes(words, "z" * 10) == [146_813_779_479_510]
    encoded = words.encode(["abcdefghijk", "abcdefghijz"])
    assert encoded.codes[0] == encoded.codes[1]
    assert encoded.shortened == 2
    assert words.decode(int(encoded.codes[0])) == "abcdefghij"


@pytest.mark.parametrize(("bits", "letters"), [(8, 1), (10, 2), (64, 13), (256, 54)])
def test_words_hold_as_many_letters_as_fit(bits: int, letters: int) -> None:
    words = Words(bits)
    assert words.letters == letters
    longest = "z" * letters
    assert words.decode(codes(words, longest)[0]) == longest


def test_words_are_lower_cased_and_refuse_other_characters() -> None:
    encoded = Words(48).encode(["The", "the", "don't", "naïve", "", "a1", "abcdefghijklé"])
    assert encoded.codes[0] == encoded.codes[1]
    assert encoded.fits.tolist() == [True, True, False, False, False, False, False]
    assert encoded.shortened == 0


def test_codes_that_no_word_has_decode_to_nothing() -> None:
    words = Words(48)
    assert words.decode(0) is None
    assert words.decode(146_813_779_479_511) is None
    assert words.show(0) == "#000000000000"
    assert words.show(1) == "a"


def test_ids_are_the_integer_where_it_fits() -> None:
    encoded = Ids(8).encode(["0", "255", "256", "-1", "1.0", "", "x", "٣", "9" * 5000, "007"])
    assert encoded.fits.tolist() == [True, True, False, False, False, False, False, False, False, True]
    assert encoded.codes.tolist() == [0, 255, 0, 0, 0, 0, 0, 0, 0, 7]
    assert Ids(8).decode(42) == "42"


def test_text_is_left_aligned_utf8() -> None:
    text = Text(24)
    assert codes(text, "A", "ABC") == [0x410000, 0x414243]
    assert text.decode(0x410000) == "A"


def test_long_texts_keep_their_first_whole_characters() -> None:
    encoded = Text(24).encode(["abcd", "abé", "日本"])
    assert encoded.shortened == 3
    assert [Text(24).decode(code) for code in encoded.codes.tolist()] == ["abc", "ab", "日"]


def test_texts_that_would_not_read_back_do_not_fit() -> None:
    assert Text(24).encode(["", "a\0b", "\0", "😀"]).fits.tolist() == [False, False, False, False]


@pytest.mark.parametrize("code", [0x000000, 0x410042, 0xFF0000])
def test_bytes_that_no_text_has_decode_to_nothing(code: int) -> None:
    assert Text(24).decode(code) is None


def test_text_needs_whole_bytes() -> None:
    with refused("text_bits", InvalidInput, bits=20):
        Text(20)


def test_hashed_codes_are_the_first_bits_of_one_keyed_digest() -> None:
    assert codes(Hashed(256), "the")[0] >> 232 == codes(Hashed(24), "the")[0]
    assert codes(Hashed(24), "the") != codes(Hashed(24, "another key"), "the")
    assert Hashed(24).decode(5) is None
    assert Hashed(24).show(5) == "#000005"


def test_the_hash_is_pinned() -> None:
    assert codes(Hashed(64), "the", "") == [5254241112555810631, 4621831211895505124]


@pytest.mark.parametrize("key", ["", "x" * 65])
def test_hash_keys_are_1_to_64_bytes(key: str) -> None:
    with refused("hash_key_length", InvalidInput, longest_hash_key=64):
        Hashed(24, key)


def test_codecs_by_name() -> None:
    assert isinstance(codec_named("words", 48), Words)
    assert isinstance(codec_named("hashed", 48, "key"), Hashed)
    with refused("unknown_name", UnknownName, kind="encoding", found="texts", nearest="text"):
        codec_named("texts", 48)
