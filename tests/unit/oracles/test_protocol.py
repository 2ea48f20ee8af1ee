"""What every device face inherits: declared randomness, drawn before the value, and shown to nobody."""

import numpy as np
import pytest
from tests.support.fixed_entropy import FixedEntropy

from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.encoding.bit_strings import code_array, keys_of
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.protocol import NO_CODE_KEY, Below, Draw, Seed, Words, key_of
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon

ONE = Budget("1")


def test_each_kind_of_randomness_reads_what_it_says() -> None:
    assert Words(2).read(ScriptedEntropy(bytes(7) + b"\1" + bytes(7) + b"\2")) == (1, 2)
    assert Below(300).read(ScriptedEntropy(b"\1\x2c\1\x2b")) == 299
    assert Seed(3).read(ScriptedEntropy(b"\1\2\3")) == 0x010203


def test_draws_take_the_bytes_that_the_documents_say() -> None:
    entropy = FixedEntropy(1)
    OptimizedUnaryEncoding().device(ONE, 9).draw(entropy)
    assert entropy.total == 72
    KRandomizedResponse().device(ONE, 257).draw(entropy)
    assert entropy.total == 72 + 8 + 1
    OptimizedLocalHashing().device(ONE).draw(ScriptedEntropy(bytes(4 + 8 + 1)))


def test_draws_show_nothing() -> None:
    number = 123_456_789_123_456_789_123_456_789  # longer than an address in a repr
    for oracle in ORACLES.values():
        assert str(number) not in repr(Draw(oracle.form(4), ((number,), number)))


def test_the_randomness_of_simulations_is_another_type() -> None:
    """P4: a seeded generator does not fit where a device wants entropy, nor the other way round."""
    with pytest.raises(AttributeError):
        KRandomizedResponse().device(ONE, 5).draw(np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        KRandomizedResponse().over(Epsilon(1), 5).perturb(np.zeros(3), FixedEntropy(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [48, 64, 128, 256])
def test_devices_and_parties_take_the_same_key(bits: int) -> None:
    prefixes = [0, 1, (1 << 40) + 7, (1 << bits) - 1, (1 << (bits - 1)) + 3]
    assert [key_of(prefix) for prefix in prefixes] == keys_of(code_array(prefixes, bits)).tolist()


def test_an_item_without_a_code_has_the_largest_key() -> None:
    assert key_of(None) == NO_CODE_KEY == 2**64 - 1


def test_a_listed_oracle_has_no_slots_of_its_own() -> None:
    with pytest.raises(AssertionError, match="as many slots as its list"):
        KRandomizedResponse().device(ONE)
