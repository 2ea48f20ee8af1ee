"""Small campaigns: what is asked of whom, and how scores become rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.support.refusals import refused

from treetop.datasets.federation import Federation, federation_from_mapping
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.errors import InvalidInput
from treetop.evaluation import campaigns
from treetop.evaluation.campaigns import (
    DESIGNS,
    EVERYBODY,
    ROTATION,
    SEEDED,
    Calendar,
    CampaignEvaluation,
    CampaignExperiment,
    run_campaign,
)
from treetop.evaluation.grid import Grid, cells_of
from treetop.mechanisms.query import Query
from treetop.query.find import score
from treetop.simulation.run import run

CALENDAR = Calendar(weeks=4, cycle=2, drift=1)


def data(users: int = 20_000) -> Federation:
    words = [first + second + "ing" for first in "abcde" for second in "klmnop"]
    histogram = {word: max(1, round(users / (rank + 1))) for rank, word in enumerate(words)}
    return federation_from_mapping({"a": histogram, "b": {word: number // 2 for word, number in histogram.items()}})


def experiment(mechanisms: str = "canopy", repeats: int = 2, **given: Any) -> CampaignExperiment:
    cells = cells_of(mechanisms.split(","), epsilons=[4.0], ks=[3])
    return CampaignExperiment.of(data(), Grid(cells, repeats, 1), Query(**given), CALENDAR)


def test_a_calendar_must_have_weeks() -> None:
    with refused("weeks_out_of_range", InvalidInput, what="weeks", min_weeks=2, max_weeks=1000, found=1):
        Calendar(weeks=1, cycle=1)
    with refused("weeks_out_of_range", InvalidInput, what="a cycle", min_weeks=2, max_weeks=1000, found=0):
        Calendar(cycle=0)
    with refused("cycle_too_long", InvalidInput, weeks=3, cycle=4):
        Calendar(weeks=3, cycle=4)


def test_everybody_pays_by_the_week_and_rotation_once_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, int, bool]] = []

    def watched(mechanism: Any, parameters: Any, population: Any, **rest: Any) -> Any:
        asked.append((float(parameters.epsilon), population.roster.all_users, bool(parameters.seeds)))
        return run(mechanism, parameters, population, **rest)

    monkeypatch.setattr(campaigns, "run", watched)
    everybody = data().users
    run_campaign(data(), Query(3, 4.0, "canopy"), CALENDAR, DESIGNS, seed=1, repetition=0)
    weeks = [asked[3 * week : 3 * week + 3] for week in range(4)]
    for number, (all_of_them, rotation, seeded) in enumerate(weeks):
        assert all_of_them == (2.0, everybody, False)
        assert rotation[0] == seeded[0] == 4.0
        assert rotation[1] == seeded[1]
        assert 0.4 < rotation[1] / everybody < 0.6
        assert seeded[2] == (number > 0)
    for first, second in (weeks[:2], weeks[2:]):
        assert first[1][1] + second[1][1] == everybody


def test_scores_are_against_everybody_of_the_week(monkeypatch: pytest.MonkeyPatch) -> None:
    truths: list[int] = []

    def watched(outcome: Any, population: Any, k: int) -> Any:
        truths.append(population.roster.all_users)
        return score(outcome, population, k)

    monkeypatch.setattr(campaigns, "score", watched)
    run_campaign(data(), Query(3, 4.0, "canopy"), CALENDAR, [ROTATION], seed=1, repetition=0)
    assert truths == [data().users] * 4


@pytest.mark.parametrize("query", [Query(3, 4.0), Query(3, 4.0, "canopy"), Query(3, 4.0, encoding="ids")])
def test_the_same_seed_gives_the_same_campaign(query: Query) -> None:
    federation = data() if query.encoding is None else replace(data(), items=[str(n) for n in range(30)])
    one, again, other = (
        run_campaign(federation, query, CALENDAR, [SEEDED], seed=seed, repetition=number).f1
        for seed, number in ((1, 0), (1, 0), (1, 1))
    )
    assert one == again
    assert all(len(weeks) == 4 for weeks in other.values())
    assert min(one[SEEDED]) > 0.6


def test_a_catalogue_may_be_asked_again_too() -> None:
    catalogue = ItemCatalogue(tuple(data().items))
    f1 = run_campaign(data(), Query(3, 4.0, catalogue=catalogue), CALENDAR, DESIGNS, seed=1, repetition=0).f1
    assert min(f1[ROTATION]) > 0.6


def test_rows_are_means_of_all_weeks_but_the_first(tmp_path: Path) -> None:
    campaigns = experiment("canopy,panorama")
    done: list[int] = []
    rows = tuple(campaigns.rows(progress=done.append))
    assert sum(done) == 4
    assert [(row.mechanism, row.design) for row in rows] == [(m, d) for m in ("canopy", "panorama") for d in DESIGNS]
    for row in rows:
        assert row.f1 == pytest.approx(sum(row.f1_of_weeks[1:]) / 3)
        assert row.f1_se is not None
        assert row.weekly_epsilon == (2.0 if row.design == EVERYBODY else 4.0)
        assert row.lifetime_epsilon == 8.0
    evaluation = CampaignEvaluation(rows, 1)
    assert json.loads(json.dumps(evaluation.to_json()))[0]["f1_of_weeks"] == list(rows[0].f1_of_weeks)
    for path in (tmp_path / "rows.csv", tmp_path / "rows.parquet"):
        evaluation.write(path)
        read = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
        assert read["f1_week_4"].to_pylist() == pytest.approx([row.f1_of_weeks[3] for row in rows])


def test_workers_change_nothing() -> None:
    alone, together = (list(experiment().rows(workers)) for workers in (1, 2))
    assert [(row.f1, row.f1_of_weeks) for row in alone] == [(row.f1, row.f1_of_weeks) for row in together]


def test_one_repetition_has_no_standard_error() -> None:
    assert next(experiment(repeats=1).rows()).f1_se is None


def test_items_and_lists_are_normalised_before_they_drift() -> None:
    words = ItemCatalogue(("AKING", "aling"), source="words")
    normal = experiment("panorama", word_list=words, normalise="casefold")
    (query,) = normal.queries
    assert query.word_list is not None
    assert query.word_list.items == ("aking", "aling")
    assert query.normalise == ()
    assert any(note.code == "items_normalised" for note in normal.federation.notes)


def test_mechanisms_that_cannot_be_seeded_are_refused() -> None:
    with refused("campaign_mechanism", InvalidInput, seedable="panorama or canopy", name="taps"):
        experiment("taps")
