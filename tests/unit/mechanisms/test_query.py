"""A query: refused where it is made, and described once for everybody who asks for its fields."""

from dataclasses import fields
from typing import Any

import pytest

from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.query import FIELDS, MAX_K, Query
from treetop.oracles.set_reports import SetQuestion


@pytest.mark.parametrize("k", [0, -1, True, 2.0])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        Query(k)
    assert (refused.value.code, refused.value.parameters) == ("k_invalid", {"k": k})


def test_k_has_a_largest_value() -> None:
    with pytest.raises(InvalidInput) as refused:
        Query(MAX_K + 1)
    assert (refused.value.code, refused.value.parameters) == ("k_out_of_range", {"k": MAX_K + 1, "max_k": MAX_K})


@pytest.mark.parametrize("asked", [{"epsilon": 0}, {"epsilon": "much"}])
def test_an_epsilon_that_is_none_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Query(**asked)


@pytest.mark.parametrize("asked", [{"strategy": "tree"}, {"normalise": "lower"}])
def test_unknown_names_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(UnknownName):
        Query(**asked)


def test_steps_have_one_form_and_epsilon_its_digits() -> None:
    assert Query(normalise="trim, nfc") == Query(normalise=("nfc", "trim"))
    assert (Query(epsilon=0.5).epsilon_text, Query(epsilon="0.50").epsilon_text) == ("0.5", "0.50")


def test_items_of_a_report_are_a_setting_of_the_mechanism() -> None:
    several = Query(sets=SetQuestion(4, "holders"))
    assert (Query().items_per_user, several.items_per_user) == (1, 4)
    assert several.parameters_of(Panorama()).items_per_user == 4


def test_every_field_that_people_fill_in_is_described() -> None:
    asked = {each.name for each in fields(Query)} - {"sets", "others"} | {"items_per_user", "reading"}
    assert asked == set(FIELDS)
    for name, about in FIELDS.items():
        assert about.line.endswith("."), name
    assert (FIELDS["k"].default, FIELDS["k"].least, FIELDS["k"].most) == (Query().k, 1, MAX_K)
