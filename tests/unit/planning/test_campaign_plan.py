from fractions import Fraction

import pytest

from treetop.errors import InvalidInput
from treetop.federation.device.ledger import Caps
from treetop.planning.campaign import CampaignPlan, allowed_epsilon, begun_in_window, plan_campaign, silence
from treetop.planning.plan import plan

CAPS = Caps()


@pytest.fixture(scope="module")
def planned() -> CampaignPlan:
    return plan_campaign([600_000, 400_000], weeks=12, lifetime_epsilon=8)


def test_cycles_divide_the_weeks_and_share_the_lifetime(planned: CampaignPlan) -> None:
    assert [each.cycle for each in planned.rotations] == [1, 2, 3, 4, 6, 12]
    for each in planned.rotations:
        assert each.cycles * each.cycle == 12
        assert each.epsilon == pytest.approx(8 * each.cycle / 12)
        assert each.answering == (600_000 // each.cycle, 400_000 // each.cycle)


def test_a_week_finds_what_a_query_of_its_users_finds(planned: CampaignPlan) -> None:
    last = planned.rotations[-1]
    assert last.modes == plan([50_000, 33_333], epsilon=8).rows
    assert last.shipped_modes == plan([50_000, 33_333], epsilon=4).rows
    found = [each.modes[0].found for each in planned.rotations]
    assert None not in found
    assert found == sorted(found, key=lambda share: -(share or 0))


def test_devices_as_shipped_pay_four_in_twelve_weeks(planned: CampaignPlan) -> None:
    everybody, *_, six, twelve = planned.rotations
    assert (twelve.shipped.refused_by, twelve.shipped.silent_from, twelve.shipped.epsilon) == ("task", 1, 4.0)
    assert (six.shipped.refused_by, six.shipped.silent_from, six.shipped.epsilon) == ("window", 7, 2.0)
    assert (everybody.shipped.refused_by, everybody.shipped.silent_from) == ("window", 7)
    assert everybody.shipped.epsilon == pytest.approx(1 / 3)
    half = plan_campaign([1_000_000], weeks=24, lifetime_epsilon="8").rotations
    twelve_weeks = next(each for each in half if each.cycle == 12)
    assert (twelve_weeks.epsilon, twelve_weeks.shipped.silent_from, twelve_weeks.shipped.epsilon) == (4.0, None, 4.0)
    assert twelve_weeks.shipped_modes is twelve_weeks.modes


@pytest.mark.parametrize(
    ("epsilon", "cycle", "cycles", "expected"),
    [
        ("4", 12, 2, None),
        ("4", 12, 3, (25, "lifetime")),
        ("4", 11, 2, (12, "window")),
        ("4.001", 12, 1, (1, "task")),
        ("2", 6, 4, None),
        ("2", 6, 5, (25, "lifetime")),
        ("2", 5, 3, (11, "window")),
        ("1/3", 1, 24, None),
        ("1/3", 1, 25, (25, "lifetime")),
    ],
)
def test_silence_begins_with_the_first_cycle_that_is_not_paid(
    epsilon: str, cycle: int, cycles: int, expected: object
) -> None:
    assert silence(Fraction(epsilon), cycle, cycles, CAPS) == expected


@pytest.mark.parametrize("cycle", [1, 2, 5, 6, 11, 12, 13])
@pytest.mark.parametrize("cycles", [1, 2, 3, 24])
def test_the_allowed_epsilon_is_the_largest(cycle: int, cycles: int) -> None:
    most = allowed_epsilon(cycle, cycles, CAPS)
    assert silence(most, cycle, cycles, CAPS) is None
    assert silence(most + Fraction(1, 10**9), cycle, cycles, CAPS) is not None


def test_cycles_of_a_window() -> None:
    assert [begun_in_window(cycle, 99, CAPS) for cycle in (1, 6, 11, 12, 13)] == [12, 2, 2, 1, 1]
    assert begun_in_window(1, 3, CAPS) == 3


def test_the_json_form(planned: CampaignPlan) -> None:
    told = planned.to_json()
    assert told["caps"] == {"per_task": 4.0, "window": 4.0, "window_days": 84.0, "lifetime": 8.0}
    assert (told["weeks"], told["lifetime_epsilon"], told["users"]) == (12, 8.0, [600_000, 400_000])
    last = told["rotations"][-1]
    assert last["as_shipped"] == {"epsilon": 4.0, "silent_from": 1, "refused_by": "task"}
    assert set(last["modes"][0]) == {"mode", "found", "marked", "stderr"}
    assert len(last["modes"]) == len(last["modes_as_shipped"])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"weeks": 1}, "from 2 to 520 weeks, found 1"),
        ({"weeks": True}, "found True"),
        ({"lifetime_epsilon": 0}, "above 0, at most 100, found 0"),
        ({"lifetime_epsilon": "many"}, "found many"),
        ({"lifetime_epsilon": float("nan")}, "found nan"),
        ({"lifetime_epsilon": True}, "found True"),
        ({"users": [11]}, "one user a week at least, 12, found 11"),
        ({"users": []}, "users must be a whole number"),
    ],
)
def test_what_cannot_be_planned_is_refused(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        plan_campaign(**{"users": [1000], **settings})  # type: ignore[arg-type]
