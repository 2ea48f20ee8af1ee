"""Each reader of a message's parts returns what is right and refuses, in words, what is not."""

from collections.abc import Callable
from functools import partial
from math import inf, nan
from typing import Any

import pytest

from treetop.errors import PeerViolation
from treetop.mechanisms import strict_json as read

GOOD: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (lambda content: read.record("it", content, {"a"}), {"a": 1}, {"a": 1}),
    (lambda content: read.whole("it", content, 0, 3), 3, 3),
    (lambda content: read.decimal("it", content, 0, 1), 0.5, 0.5),
    (lambda content: read.text("it", content, 3), "abc", "abc"),
    (lambda content: read.rows("it", content, 1, 2), [7], [7]),
    (lambda content: read.code("it", content, 4), "f", 15),
    (lambda content: read.codes("it", content, 4, 8).tolist(), ["f", "0"], [15, 0]),
    (lambda content: read.digest("it", content), "ab" * 32, b"\xab" * 32),
    (lambda content: read.decimals("it", content, 2, 0, 1).tolist(), [0.0, 1.0], [0.0, 1.0]),
    (lambda content: read.wholes("it", content, 2, 0, 1), [0, 1], [0, 1]),
    (lambda content: read.public_texts("it", content), {"a": ["\U0001f600", 1]}, None),
    (lambda content: read.optional(read.text, "it", content), None, None),
    (lambda content: read.optional(read.text, "it", content), "a", "a"),
]

BAD: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda content: read.record("it", content, {"a"}), [], "it: expected an object, found list"),
    (lambda content: read.record("it", content, {"a"}), {"b": 1}, "fields of it: expected ['a'], found ['b']"),
    (lambda content: read.whole("it", content, 0, 3), True, "it: expected a whole number, found bool"),
    (lambda content: read.whole("it", content, 0, 3), 4, "it: expected from 0 to 3, found 4"),
    (lambda content: read.decimal("it", content, 0, 1), 1, "it: expected a finite number, found 1"),
    (lambda content: read.decimal("it", content, 0, 1), nan, "it: expected a finite number, found nan"),
    (lambda content: read.decimal("it", content, 0, 1), inf, "it: expected a finite number, found inf"),
    (lambda content: read.decimal("it", content, 0, 1), 1.5, "it: expected from 0 to 1, found 1.5"),
    (lambda content: read.text("it", content, 3), 5, "it: expected a text, found int"),
    (lambda content: read.text("it", content, 3), "abcd", "it: expected 3 characters at most, found 4"),
    (
        lambda content: read.public_texts("it", content),
        {"a": ["b\n"]},
        "no control or invisible characters, found 'b\\n'",
    ),
    (lambda content: read.rows("it", content, 1, 2), "ab", "it: expected a list, found str"),
    (lambda content: read.rows("it", content, 1, 2), [], "number of it: expected from 1 to 2, found 0"),
    (lambda content: read.code("it", content, 4), "g", "it: expected hexadecimal digits, found g"),
    (lambda content: read.code("it", content, 4), "", "it: expected hexadecimal digits, found"),
    (lambda content: read.code("it", content, 4), "0F", "without needless ones, found 0F"),
    (lambda content: read.code("it", content, 4), "10", "it: expected of 4 bits, found 10"),
    (lambda content: read.code("it", content, 4), "-1", "it: expected of 4 bits, found -1"),
    (lambda content: read.codes("it", content, 4, 8), ["f", "f"], "it: expected distinct, found one twice"),
    (lambda content: read.digest("it", content), "zz", "it: expected hexadecimal digits, found zz"),
    (lambda content: read.digest("it", content), "ab", "it: expected 32 bytes, found 1"),
    (lambda content: read.decimals("it", content, 2, 0, 1), [0.0], "number of it: expected from 2 to 2, found 1"),
    (lambda content: read.wholes("it", content, 2, 0, 1), [0, 2], "it: expected from 0 to 1, found 2"),
]


@pytest.mark.parametrize(("reader", "content", "expected"), GOOD)
def test_what_is_right_is_returned(reader: Callable[[Any], Any], content: Any, expected: Any) -> None:
    assert reader(content) == expected


@pytest.mark.parametrize(("reader", "content", "said"), BAD)
def test_what_is_wrong_is_refused_in_words(reader: Callable[[Any], Any], content: Any, said: str) -> None:
    with pytest.raises(PeerViolation) as refusal:
        reader(content)
    assert said in str(refusal.value)


def test_a_long_finding_is_shown_in_part() -> None:
    with pytest.raises(PeerViolation) as refusal:
        read.code("it", "x" * 64, 4)
    assert "x" * 64 in str(refusal.value)
    with pytest.raises(PeerViolation) as refusal:
        partial(read.require, holds=False, what="it", expected="less", found="y" * 100)()
    assert "y" * 77 + "..." in str(refusal.value)
