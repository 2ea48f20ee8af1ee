"""`treetop plan`: numbers that make sense, and refusals that explain themselves."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.mechanisms.summed_level import SummedParameters
from treetop.metrics.detection_power import (
    bisected,
    edge,
    effective_parties,
    least_frequency,
    min_factor,
    passing_power,
)
from treetop.oracles.registry import set_oracle
from treetop.planning.modes import Lists, mode_of, modes_of
from treetop.planning.plan import checked_plot, draw_plan, plan
from treetop.privacy.epsilon import Epsilon


def test_more_users_more_epsilon_and_smaller_catalogues_find_rarer_items() -> None:
    few, many = plan([50_000, 20_000]), plan([500_000, 200_000])
    strict, loose = plan([50_000], epsilon=1), plan([50_000], epsilon=4)
    small, large = plan([50_000], catalogue_size=1_000), plan([50_000], catalogue_size=1_000_000)
    for better, worse in ((many, few), (loose, strict)):
        for first, second in zip(better.rows, worse.rows, strict=True):
            assert first.found is not None
            assert second.found is None or first.found < second.found
    assert (small.rows[0].found or 1) < (large.rows[0].found or 0)


def test_ten_times_the_users_find_items_about_root_ten_rarer() -> None:
    few, many = plan([200_000]), plan([2_000_000])
    for first, second in zip(few.rows, many.rows, strict=True):
        assert (first.found or 0) / (second.found or 1) == pytest.approx(10**0.5, rel=0.05)


def test_knowing_more_finds_rarer_items() -> None:
    found = [row.found or 1 for row in plan([300_000, 200_000]).rows]
    catalogue, listed, ids, texts, shared, alone = found
    assert catalogue < listed < ids < texts
    assert ids < shared < alone
    longer = plan([300_000, 200_000], word_list_size=5_000_000).rows[1].found or 0
    assert listed < longer < ids


def test_the_needed_epsilon_and_users_find_the_wished_frequency() -> None:
    wished = plan([60_000, 40_000], frequency=0.02)
    for place, row in enumerate(wished.rows):
        assert row.epsilon_needed is not None
        assert row.users_needed is not None
        assert plan([60_000, 40_000], epsilon=row.epsilon_needed).rows[place].found == pytest.approx(0.02, rel=1e-3)
        half = row.users_needed * 3 // 5, row.users_needed - row.users_needed * 3 // 5
        assert plan(half).rows[place].found == pytest.approx(0.02, rel=1e-3)


def test_a_small_catalogue_needs_no_more_than_noise_asks_for() -> None:
    """An item need not hold its even share of the users: 14 items, and one of 1.6 % is among ten found."""
    strict, loose = (plan([100_000], epsilon=epsilon, catalogue_size=14).rows[0].found for epsilon in (1, 2))
    assert strict == pytest.approx(0.016, rel=0.1)
    assert loose == pytest.approx(0.006, rel=0.1)


def test_more_items_are_harder_to_tell_apart() -> None:
    found = [plan([30_000, 20_000], k=2, catalogue_size=size).rows[0].found or 0 for size in (2, 3, 5, 14, 100, 10_000)]
    assert found == sorted(set(found))


@pytest.mark.parametrize("users", [[1], [5_000, 2_000]])
def test_all_items_of_a_catalogue_of_k_are_listed(users: list[int]) -> None:
    row = plan(users, k=3, catalogue_size=3, frequency=0.001).rows[0]
    assert row.what == "3 known items, all listed"
    assert (row.found, row.epsilon_needed, row.users_needed) == (0, 0, len(users))
    assert row.marked is None or row.marked > 0


def test_where_few_items_have_room_fewer_are_ahead() -> None:
    """Nine items cannot each be more popular than one of 12 %: it then competes for more than the last place."""
    stage = modes_of(SummedParameters(10, Epsilon(1)), Lists(14, 50_000))[0].stages[0]
    just_below, just_above = (passing_power(stage, [3_000], frequency) for frequency in (0.0999, 0.1001))
    assert just_above > just_below + 0.001
    assert passing_power(stage, [3_000], 1.0) > 0.999


def test_the_edge_of_one_party_is_the_best_of_normal_variables() -> None:
    """The median of the better of m standard normal variables, and what is beaten by a normal variable in 90 %."""
    for rivals, middle, needed in ((1, 0.0, 1.81), (13, 1.63, 3.13), (9_990, 3.81, 5.19)):
        found = edge(1, 2.66, 1, rivals)
        assert found.mean == pytest.approx(middle, abs=0.12)
        assert found.mean + 1.2816 * (1 + found.spread**2) ** 0.5 == pytest.approx(needed, abs=0.12)
    assert edge(1, 2.66, 30, 1_000).mean == pytest.approx(1.88, abs=0.12)  # the 30th of 1,000


def test_what_cannot_be_found_is_said_to_be_so() -> None:
    nobody = plan([10], epsilon=0.1, frequency=1e-9)
    assert {row.found for row in nobody.rows} == {None}
    assert {row.stderr for row in nobody.rows} == {None}
    assert {row.epsilon_needed for row in nobody.rows} == {None}


def test_the_json_object_names_its_modes() -> None:
    planned = plan([1000]).to_json()
    assert [row["mode"] for row in planned["modes"]] == [
        "catalogue", "word list", "ids", "texts", "canopy", "canopy, alone",
    ]  # fmt: skip
    assert planned["reports"] == 1000


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"users": []}, "plan_users"),
        ({"users": [0]}, "plan_users"),
        ({"users": [10], "catalogue_size": 3}, "plan_list_size"),
        ({"users": [1.5]}, "plan_users"),
        ({"users": [float("nan")]}, "plan_users"),
        ({"users": [True]}, "plan_users"),
        ({"users": ["many"]}, "plan_users"),
        ({"users": [10**13]}, "plan_users"),
        ({"users": [10], "catalogue_size": 20.5}, "plan_list_size"),
        ({"users": [10], "catalogue_size": 1 << 26}, "plan_list_size"),
        ({"users": [10], "word_list_size": 3}, "plan_list_size"),
        ({"users": [10], "frequency": 1.5}, "plan_frequency"),
        ({"users": [10], "frequency": 0}, "plan_frequency"),
        ({"users": [10], "frequency": float("nan")}, "plan_frequency"),
        ({"users": [10], "frequency": "half"}, "plan_frequency"),
        ({"users": [10], "epsilon": 0}, "epsilon_range"),
        ({"users": [10], "k": 0}, "k_invalid"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, object], reason: str) -> None:
    with refused(reason, InvalidInput):
        plan(**arguments)  # type: ignore[arg-type]


def test_plots_are_refused_before_they_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked_plot(tmp_path / "plan.svg") == tmp_path / "plan.svg"
    with refused("output_ending", endings=(".png", ".svg")):
        checked_plot(tmp_path / "plan.gif")
    with refused("output_folder_missing"):
        checked_plot(tmp_path / "none" / "plan.png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match=r"treetop-ldp\[plot\]"):
        checked_plot(tmp_path / "plan.png")


def test_the_plot_has_a_panel_for_each_mode_and_falls_with_users() -> None:
    figure = draw_plan(plan([3, 5], epsilon=0.5))
    assert len(figure.axes) == 4
    for axes in figure.axes:
        for line in axes.lines:
            shares = np.asarray(line.get_ydata(), dtype=np.float64)
            assert np.all(np.diff(shares[np.isfinite(shares)]) <= 0)


def test_bounds() -> None:
    assert effective_parties([10, 10, 10]) == 3
    assert effective_parties([1000, 1]) == 1
    assert bisected(lambda value: value >= 2, 0, 8) == pytest.approx(2)
    assert least_frequency(lambda frequency: 0.1) == float("inf")
    assert min_factor(lambda factor: False, 10.0) == float("inf")


def test_reports_of_sets_are_noisier_for_each_item_and_weigh_more_when_crafted() -> None:
    one, eight = plan([200_000, 100_000]), plan([200_000, 100_000], items_per_user=8)
    for single, several in zip(one.rows, eight.rows, strict=True):
        assert single.found is not None
        assert several.found is not None
        assert 2 < several.found / single.found < 5
    assert (one.to_json()["items_per_user"], eight.to_json()["items_per_user"]) == (1, 8)
    assert eight.to_json()["fake_weight"] == pytest.approx(20.27, abs=0.01)
    needed = plan([200_000], items_per_user=8, frequency=0.02).rows[0]
    assert (needed.epsilon_needed or 0) > (plan([200_000], frequency=0.02).rows[0].epsilon_needed or 99)
    with refused(
        "setting_invalid", InvalidInput, name="items_per_user", expects="a whole number from 1 to 64", value=65
    ):
        plan([200_000], items_per_user=65)


def test_a_mode_knows_which_questions_of_a_server_it_is_for() -> None:
    parameters, lists = SummedParameters(10, Epsilon(1)), Lists(14, 50_000)

    def name(mechanism: str, encoding: str) -> str | None:
        mode = mode_of(mechanism, encoding, parameters, lists)
        return None if mode is None else mode.name

    assert [name("panorama", each) for each in ("catalogue", "ids", "hashed", "words")] == [
        "catalogue", "ids", "texts", None,
    ]  # fmt: skip
    assert {name("canopy", each) for each in ("words", "ids", "text", "hashed")} == {"canopy"}
    assert name("taps", "ids") is None


def test_the_planned_error_of_a_count_about_sets_has_the_draw_of_items() -> None:
    """As an answer's: n (q (1 - q) / (p - q)^2 + f (1 - p - q) / (p - q) + f (1 - f))."""
    row = plan([40_000], epsilon=4, items_per_user=2).rows[0]
    assert row.found is not None
    oracle, f = set_oracle("auto", Epsilon(4.0), 2), row.found
    noise = 40_000 * oracle.variance(f, 1)
    assert row.stderr == pytest.approx((noise + 40_000 * f * (1 - f)) ** 0.5)
    assert row.stderr > 1.01 * noise**0.5
