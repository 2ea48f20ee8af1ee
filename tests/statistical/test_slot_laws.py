"""Weeks of campaigns are drawn uniformly: what a bias of one twentieth would look like, and that there is none.

600,000 devices, W = 12 weeks, 50,000 expected in each. A week with 5 % more or fewer devices is 2,500 / sqrt(50,000 *
11/12) = 11.7 standard deviations off. The test rejects at 1e-9: |z| > 6.49 for any of 12 weeks (Bonferroni, two sides),
so that it finds such a bias with probability 1 - 2e-7, and an honest device fails it once in 10^9 times.
"""

from collections import Counter
from contextlib import suppress
from math import sqrt
from statistics import NormalDist

import pytest
from tests.support.campaigns import campaign, weekly
from tests.support.fixed_entropy import FixedEntropy

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.errors import NotMyWeek
from treetop.federation.device.device import Device
from treetop.federation.device.group_assignment import drawn_week
from treetop.federation.device.ledger import Ledger
from treetop.privacy.randomness import Entropy, uniform_below

DEVICES, WEEKS, RISK, BIAS = 600_000, 12, 1e-9, 0.05
ASKED = campaign(weeks=WEEKS)
LIMIT = NormalDist().inv_cdf(1 - RISK / (2 * WEEKS))


def largest_deviation(drawn: Counter[int]) -> float:
    """Return the largest |z| of any week."""
    expected = drawn.total() / WEEKS
    spread = sqrt(expected * (1 - 1 / WEEKS))
    return max(abs(drawn[week] - expected) / spread for week in range(WEEKS))


def biased(entropy: Entropy) -> int:
    """Draw week 0 with 5 % more than its share, the others with what is left."""
    if uniform_below(round(WEEKS * (WEEKS - 1) / BIAS), entropy) < WEEKS:
        return 0
    return uniform_below(WEEKS, entropy)


def modulo(entropy: Entropy) -> int:
    """Draw a byte and take its remainder: 4 of 12 weeks get 22 of 256, the others 21."""
    return entropy.read(1)[0] % WEEKS


def test_the_power_is_what_the_page_says() -> None:
    deviation = BIAS * DEVICES / WEEKS / sqrt(DEVICES / WEEKS * (1 - 1 / WEEKS))
    assert pytest.approx(6.49, abs=0.01) == LIMIT
    assert deviation == pytest.approx(11.7, abs=0.05)
    assert NormalDist().cdf(LIMIT - deviation) < 2e-7


def test_weeks_are_drawn_uniformly() -> None:
    entropy = FixedEntropy(20)
    drawn = Counter(drawn_week(ASKED, entropy) for _ in range(DEVICES))
    assert set(drawn) == set(range(WEEKS))
    assert largest_deviation(drawn) < LIMIT


@pytest.mark.parametrize("broken", [biased, modulo])
def test_a_bias_of_one_twentieth_is_found(broken: object) -> None:
    entropy = FixedEntropy(20)
    drawn = Counter(broken(entropy) for _ in range(DEVICES))  # type: ignore[operator]
    assert largest_deviation(drawn) > LIMIT


@pytest.mark.slow
def test_the_weeks_of_whole_devices_are_uniform() -> None:
    """Through the device and its ledger, with the operating system's randomness."""
    entropy, of, drawn = SystemEntropy(), weekly(ASKED), Counter[int]()
    for _ in range(DEVICES):
        ledger = Ledger(MemoryLedger(), MemoryCounter())
        with suppress(NotMyWeek):
            Device(lambda: 77, entropy, ledger).check_allowed(of, ASKED)
        drawn[ledger.slots[0].slot] += 1
    assert largest_deviation(drawn) < LIMIT
