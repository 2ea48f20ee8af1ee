import pytest

from treetop.cli.federation.query import read_expected
from treetop.errors import InvalidInput


def test_expected_users_are_read() -> None:
    assert read_expected(["north=12000", "a=b=3"]) == {"north": 12000, "a=b": 3}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["north"], "expects NAME=USERS, found 'north'"),
        (["=3"], "expects NAME=USERS"),
        (["north=many"], "expects NAME=USERS"),
        (["north=-3"], "expects NAME=USERS"),
        (["north=3", "north=4"], "names 'north' twice"),
    ],
)
def test_other_expectations_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_expected(pairs)
