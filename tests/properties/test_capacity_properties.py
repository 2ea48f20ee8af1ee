"""More users never cost less, and nothing but what is said changes what it costs."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from treetop.planning.capacity import ARRIVALS, Load, Prices, capacity
from treetop.planning.measured_rates import COUNTING

LOADS = st.builds(
    Load,
    users=st.integers(1_000, 10**10),
    parties=st.integers(1, 1_000),
    days=st.floats(0.1, 100),
    epsilon=st.floats(0.5, 4),
    oracle=st.sampled_from(sorted(COUNTING)),
    candidates=st.integers(1, 10_000),
    arrival=st.sampled_from(sorted(ARRIVALS)),
    peak=st.floats(1, 20),
    busy=st.floats(0.1, 1),
)


@given(load=LOADS, factor=st.integers(2, 50))
@settings(max_examples=60, deadline=None)
def test_more_users_take_no_less_of_anything(load: Load, factor: int) -> None:
    few, many = capacity(load), capacity(replace(load, users=load.users * factor))
    for name in ("reports a second, peak", "cores in all", "stores afterwards", "counting", "in all"):
        assert many.value(name) >= few.value(name)


@given(load=LOADS, factor=st.floats(1.5, 20))
@settings(max_examples=40, deadline=None)
def test_prices_change_money_alone_and_in_proportion(load: Load, factor: float) -> None:
    prices = load.prices
    dearer = replace(
        load, prices=Prices(factor * prices.core_hour, factor * prices.gigabyte_month, factor * prices.gigabyte_out)
    )
    for before, after in zip(capacity(load).figures, capacity(dearer).figures, strict=True):
        expected = factor * before.value if before.group == "Money" else before.value
        assert abs(after.value - expected) <= 1e-9 * max(1.0, expected)


@given(load=LOADS, days=st.floats(1.01, 50))
@settings(max_examples=40, deadline=None)
def test_the_longer_devices_may_report_the_fewer_come_at_once(load: Load, days: float) -> None:
    longer = replace(load, days=load.days * days)
    assert capacity(longer).value("reports a second, peak") < capacity(load).value("reports a second, peak")
    assert capacity(longer).value("cores of a party") <= capacity(load).value("cores of a party")
