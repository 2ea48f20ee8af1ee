"""What is asked of users who hold sets: what was left open is filled in, and what has no meaning is refused."""

import pytest

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.registry import form_for_sets, set_oracle
from treetop.oracles.set_question import SetQuestion
from treetop.oracles.set_reports import SetLocalHashing, SetWalshHashing
from treetop.privacy.epsilon import Epsilon


@pytest.mark.parametrize(("items", "reading", "asked"), [
    (None, None, (8, "holders")), (None, "holders", (8, "holders")), (5, None, (5, "holders")),
    (1, None, (1, "shares")), (None, "shares", (1, "shares")), (None, "use_shares", (1, "use_shares")),
])  # fmt: skip
def test_what_was_left_open_is_filled_in(items: int | None, reading: str | None, asked: tuple[int, str]) -> None:
    assert SetQuestion.of(items, reading) == SetQuestion(*asked)


def test_what_has_no_meaning_is_refused() -> None:
    for items in (0, 65):
        with pytest.raises(InvalidInput, match=f"from 1 to 64, found {items}"):
            SetQuestion.of(items, None)
    with pytest.raises(InvalidInput, match="occurrences are not counted"):
        SetQuestion.of(8, "occurrences")
    with pytest.raises(UnknownName, match="uses"):
        SetQuestion.of(8, "uses")
    with pytest.raises(InvalidInput, match="expected items_per_user = 1, found 8"):
        SetQuestion.of(8, "shares")


def test_oracles_that_hash_have_a_form_for_sets_and_the_others_are_refused() -> None:
    assert form_for_sets("olh", 1) == SetLocalHashing(1)
    assert form_for_sets("walsh", 8) == SetWalshHashing(8)
    with pytest.raises(InvalidInput, match="report through olh or walsh, found 'krr'"):
        form_for_sets("krr", 8)


def test_sets_are_reported_through_walsh_unless_told() -> None:
    assert set_oracle("auto", Epsilon(2), 8).name == "walsh"
    assert set_oracle("olh", Epsilon(2), 8).name == "olh"
