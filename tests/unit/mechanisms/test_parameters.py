from typing import Any

import pytest
from tests.support.refusals import refused

from treetop.encoding.bit_strings import code_array
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.dialogue import Member, Roster
from treetop.mechanisms.fedpem import Fedpem, FedpemParameters
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import FOR_A_QUERY, OWN, SETTINGS, parameters_for, unread_settings
from treetop.mechanisms.taps import Taps, TapsParameters
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note


def parameters(**settings: object) -> TapsParameters:
    return TapsParameters(10, Epsilon(4)).with_settings(settings)


def test_the_defaults_are_the_papers() -> None:
    p, pem = parameters(), FedpemParameters(10, Epsilon(4))
    assert (p.bits, p.levels, p.shared_levels, p.beta, p.phase_one_share) == (48, 24, 6, 0.1, 0.1)
    assert p.lengths[-1] == pem.pem_lengths[-1] == 48
    assert (pem.pem_lengths[0], pem.t) == (4, 10)


def test_pruned_levels_of_algorithm_4() -> None:
    assert parameters().pruned_levels == (7, 8, 9, 10, 11, 12, 18, 19, 20, 21, 22, 23, 24)
    assert parameters(levels=4).pruned_levels == (2, 3, 4)
    assert parameters(levels=2).pruned_levels == (2,)


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("levels", "12", 12),
        ("levels", 12.0, 12),
        ("beta", "0.25", 0.25),
        ("extension", "printed", "printed"),
        ("pruning", "False", False),
        ("pruning", True, True),
        ("shared_trie", "no", False),
        ("hash_key", "salt", "salt"),
        ("groups", "independent", "independent"),
    ],
)
def test_settings_are_read_from_text_and_values(name: str, value: object, read: object) -> None:
    assert getattr(parameters(**{name: value}), name) == read


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("levels", "0"), ("levels", "2.5"), ("levels", 2.5), ("levels", True), ("levels", "many"), ("levels", None),
        ("bits", 7), ("bits", float("inf")), ("beta", 0), ("beta", 0.26), ("beta", "nan"), ("beta", False),
        ("shared_share", 1), ("phase_one_share", 0), ("extension", "Floor"), ("extension_factor", 0),
        ("pruning", "maybe"), ("hash_key", ""), ("hash_key", 5), ("drift_range", "negative"),
    ],
)  # fmt: skip
def test_bad_settings_say_what_was_expected_and_found(name: str, value: Any) -> None:
    with refused("setting_invalid", InvalidInput):
        parameters(**{name: value})


def test_a_direct_construction_is_checked_too() -> None:
    with refused("setting_invalid", InvalidInput, name="beta", expects="a number above 0 and at most 0.25", value=0.5):
        TapsParameters(10, Epsilon(4), beta=0.5)


def test_unknown_settings_are_refused() -> None:
    with refused("unknown_name", UnknownName, kind="setting", found="level", nearest="levels"):
        parameters(level=3)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_is_a_whole_number_from_1(k: Any) -> None:
    with refused("k_invalid", InvalidInput):
        Parameters(k, Epsilon(4))


def test_more_levels_than_bits_are_refused() -> None:
    with refused("levels_out_of_range", InvalidInput, bits=16, levels=24):
        parameters(bits=16, levels=24)


def test_a_level_is_one_bit_where_bits_are_few_and_nobody_asked_for_levels() -> None:
    assert parameters(bits=16).levels == 16
    assert parameters(bits=16, levels=4).levels == 4


def test_every_setting_is_documented_and_means_the_same_everywhere() -> None:
    """A setting that two mechanisms have has one default, one description and one range; but names are short codes."""
    readers = [each.parameters(1, Epsilon(1)) for each in (*OWN.values(), *FOR_A_QUERY.values())]
    for name, known in SETTINGS.items():
        assert known.help.endswith("."), name
        having = [reader for reader in readers if name in reader.settings()]
        defaults = {getattr(having[0], name)}
        assert {getattr(reader, name) for reader in having} == ({48, 24} if name == "bits" else defaults), name
        found = [reader.settings()[name] for reader in having]
        assert {(each.symbol, each.help, each.expects) for each in found} == {
            (known.symbol, known.help, known.expects)
        }, name


def test_a_mechanism_has_its_own_settings_only() -> None:
    assert set(Fedpem().parameters.settings()) == {
        "bits", "hash_key", "levels", "groups", "least_kept", "extension_factor",
    }  # fmt: skip
    assert "beta" not in Canopy().parameters.settings()
    everything = {
        "bits", "hash_key", "score", "items_per_user", "upload_budget", "text_share", "text_chunks", "expected_items",
    }  # fmt: skip
    ids, catalogue = CodeList.of_codes(code_array([], 8)), CodeList.of_codes(code_array([0, 1], 8))
    assert set(Panorama().parameters.settings()) == everything
    assert set(Panorama(texts=False).parameters.settings()) == everything - {"text_share", "text_chunks"}
    assert set(Panorama(ids, texts=False).parameters.settings()) == {
        "bits", "score", "items_per_user", "upload_budget",
    }  # fmt: skip
    assert set(Panorama(catalogue, discovers=False, texts=False).parameters.settings()) == {"score", "items_per_user"}
    with refused("unknown_name", UnknownName, kind="setting", found="beta", nearest="bits"):
        FedpemParameters(3, Epsilon(1)).with_settings({"beta": 0.1})


def test_a_setting_of_another_mechanism_is_checked_left_out_and_named() -> None:
    settings = {"beta": "0.2", "levels": "12"}
    assert parameters_for(Fedpem(), 3, 1.0, settings=settings).levels == 12
    assert unread_settings(Fedpem(), settings) == (Note("setting_unused", mechanism="fedpem", setting="beta"),)
    assert unread_settings(Taps(), settings) == ()
    with refused("setting_invalid", InvalidInput, name="beta", expects="a number above 0 and at most 0.25", value=3):
        parameters_for(Fedpem(), 3, 1.0, settings={"beta": 3})
    with refused("unknown_name", UnknownName, kind="setting", found="bett", nearest="beta"):
        parameters_for(Fedpem(), 3, 1.0, settings={"bett": 3})


def test_the_roster_is_ordered_by_users_then_name() -> None:
    b, c, a = Member("b", 5), Member("c", 9), Member("a", 5)
    roster = Roster.of([b, c, a])
    assert roster.names == ("c", "a", "b")
    assert roster.all_users == 19
    assert (roster.previous(c), roster.previous(a), roster.previous(b)) == (None, c, a)
    assert [roster.is_last(member) for member in (c, a, b)] == [False, False, True]
    with refused("federation_empty", InvalidInput):
        Roster.of([])
