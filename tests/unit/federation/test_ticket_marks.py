"""The mark on a ticket is HMAC-SHA256, however it is computed."""

import hmac
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from treetop.federation.tickets import TicketKey


@given(st.binary(min_size=32, max_size=100), st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1))
def test_the_mark_is_hmac_sha256(secret: bytes, task: bytes, serial: int) -> None:
    key = sha256(b"treetop ticket 1\0" + secret).digest()
    expected = hmac.digest(key, task + serial.to_bytes(8, "big"), "sha256")[:16]
    assert TicketKey(secret).write(task, serial).mac == expected
