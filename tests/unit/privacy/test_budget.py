from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from treetop.errors import InvalidInput
from treetop.privacy.budget import Budget, exponential_bounds


@pytest.mark.parametrize("text", ["0.001", "0.1", "0.5", "1", "2", "3.7", "8", "15.999", "16"])
def test_the_bounds_enclose_the_exponential(text: str) -> None:
    getcontext().prec = 80
    true = Fraction(Decimal(text).exp())
    below, above = exponential_bounds(Fraction(text))
    assert below <= true + Fraction(1, 10**60)
    assert true - Fraction(1, 10**60) <= above
    assert 0 < above - below < Fraction(1, 1 << 180)


def test_the_bounds_multiply_as_exponentials_do() -> None:
    below_one, above_one = exponential_bounds(Fraction(1))
    below_two, above_two = exponential_bounds(Fraction(2))
    assert below_one**2 <= above_two
    assert below_two <= above_one**2


@pytest.mark.parametrize("text", ["0", "17", "-1", "nan", "inf", "1e1", "", ".5", "01", "1.", "0.0009", "1" * 30, "½"])
def test_a_budget_is_a_plain_decimal_in_range(text: str) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        Budget(text)


def test_equal_budgets_have_equal_texts() -> None:
    assert Budget("2.50") == Budget("2.5")
    assert Budget("2.0").text == "2"
    assert Budget("10").text == "10"
    assert Budget("0.1").amount == Fraction(1, 10)
