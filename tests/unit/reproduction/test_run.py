"""A whole reproduction of small federations."""

import json
import shlex
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet
import pytest
from tests.support.every_command import app
from tests.support.histogram_folders import small_folder
from tests.support.refusals import refused
from tests.support.small_reproductions import small_reproducer
from typer.testing import CliRunner

from treetop.errors import InvalidInput
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.public_text import first_hidden
from treetop.query.find import Score
from treetop.reproduction import report
from treetop.reproduction.federation_variants import FederationVariants
from treetop.reproduction.report import require_plots, write_report
from treetop.reproduction.run import Reproducer, Reproduction
from treetop.reproduction.specification import Variant, specifications_named
from treetop.reproduction.tables import commands_for, tables_of
from treetop.reproduction.verdicts import UNCHECKED, Measurements

NAMES = ("federations", "oracles", "step_size", "scalability", "extension")


def reproducer(data: Path, output: Path, resume: bool = False) -> Reproducer:
    return small_reproducer(NAMES, data, output, resume)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("output")


@pytest.fixture(scope="module")
def reproduction(folder: Path, output: Path) -> Reproduction:
    running = reproducer(folder, output)
    heard: list[int] = []
    asked = running.pending_runs
    running.run(1, heard.append)
    assert sum(heard) == asked
    finished = running.finished()
    write_report(finished, output, "treetop reproduce")
    return finished


RESULT_FILES = ("results.parquet", "runs.parquet", "figures/oracles.png", "figures/oracles.svg")


def test_the_same_seed_gives_the_same_bytes(
    reproduction: Reproduction, folder: Path, output: Path, tmp_path: Path
) -> None:
    again = reproducer(folder, tmp_path)
    again.run(1)
    write_report(again.finished(), tmp_path, "treetop reproduce")
    for name in RESULT_FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()


@pytest.mark.parametrize("kept", [0, 17])
def test_a_run_that_stopped_goes_on_to_the_same_bytes(
    reproduction: Reproduction, folder: Path, output: Path, tmp_path: Path, kept: int
) -> None:
    lines = (output / "cells.jsonl").read_bytes().splitlines(keepends=True)
    reproducer(folder, tmp_path)
    (tmp_path / "cells.jsonl").write_bytes(b"".join(lines[:kept]) + lines[kept][:50])
    going_on = reproducer(folder, tmp_path, resume=True)
    assert len(going_on.scores) == kept
    going_on.run(1)
    write_report(going_on.finished(), tmp_path, "treetop reproduce")
    for name in RESULT_FILES:
        assert (tmp_path / name).read_bytes() == (output / name).read_bytes()
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(b"".join(lines[:kept]))


def test_a_finished_run_has_nothing_left(reproduction: Reproduction, folder: Path, output: Path) -> None:
    assert reproducer(folder, output, resume=True).pending == []


def test_other_data_are_run_anew(reproduction: Reproduction, output: Path, tmp_path: Path) -> None:
    other = small_folder(tmp_path / "data")
    (other / "rdb_distinct.parquet").write_bytes((other / "tys.parquet").read_bytes())
    running = reproducer(other, output, resume=True)
    assert {planned.variant.federation for planned in running.pending} == {"RDB"}


def test_results_have_a_row_per_cell_and_times_are_kept_apart(reproduction: Reproduction, output: Path) -> None:
    results, timings, runs = (
        pyarrow.parquet.read_table(output / f"{name}.parquet") for name in ("results", "timings", "runs")
    )
    assert len(results) == len(timings) == len(reproduction.measurements.scores)
    assert len(runs) == 2 * len(results)
    assert "seconds" not in results.column_names + runs.column_names
    assert results.schema.metadata == {b"seed": b"5"}
    assert set(results["federation"].to_pylist()) == {"RDB", "TYS", "UBA"}
    assert "extension=fixed extension_factor=0.5" in results["settings"].to_pylist()


def test_a_printed_command_gives_the_number_again(reproduction: Reproduction) -> None:
    specification = next(each for each in reproduction.specifications if each.name == "extension")
    point = next(point for point in specification.points() if point.federation == "TYS")
    series = specification.series_named("t = k/2")
    (command,) = commands_for([specification.cell_at(point, series)], reproduction, "extension")
    assert "--set extension=fixed --set extension_factor=0.5" in command
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
    (row,) = json.loads(done.stdout)
    measured = reproduction.measurements.lookup(specification)(point, series.label, "f1")
    assert measured == (row["f1"], row["f1_se"])


def test_a_share_of_users_is_given_again_by_reproduce(reproduction: Reproduction, folder: Path) -> None:
    (specification,) = specifications_named(["scalability"])
    planned = list(specification.planned())[:3]
    expected = f"treetop reproduce scalability --data {folder} --output again --repeats 2 --seed 5"
    assert commands_for(planned, reproduction, "scalability") == [expected]


def test_missing_and_substituted_data_are_named(reproduction: Reproduction) -> None:
    assert reproduction.provenances["YCM"].missing
    (table,) = tables_of(specifications_named(["extension"])[0], reproduction)
    heads = [row.heads[0] for row in table.rows]
    assert heads == ["RDB", "YCM (missing)", "TYS", "UBA (substitute)", "SYN"]
    assert [entry.ours for entry in table.rows[1].entries] == ["–"] * 5
    assert table.rows[1].entries[0].paper == "0.644"
    scalability = [each for each in reproduction.verdicts if each.specification == "scalability"]
    assert {each.verdict for each in scalability} == {UNCHECKED}


def test_the_known_erratum_is_remarked(reproduction: Reproduction) -> None:
    (table,) = tables_of(specifications_named(["step_size"])[0], reproduction)
    assert [row.heads for row in table.rows if "erratum" in row.remark] == [("RDB", "step 4")]


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_beside_it(reproduction: Reproduction, output: Path) -> None:
    text = (output / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert all(address.startswith(("#", "data:image/svg+xml;base64,")) for address in page.addresses)
    assert not page.tags & {"script", "link", "iframe"}
    for needed in ("Seed 5, 2 repetitions", "A comparison is for the claim", "SUBSTITUTE", "YCM (missing)", "numpy"):
        assert needed in text
    assert "provisional" in text
    assert "verdict" in (output / "report.md").read_text(encoding="utf-8")


def test_our_own_mechanisms_are_averaged_over_what_all_were_run_on(reproduction: Reproduction) -> None:
    (beyond,) = specifications_named(["beyond"])
    scores = {}
    for planned in beyond.planned():
        own = planned.cell.mechanism.name in ("panorama", "canopy")
        if planned.variant.federation in ("RDB", "TYS") or (planned.variant.federation == "UBA" and own):
            scores[planned] = [Score(f1, 0, 0, 0, 0) for f1 in ((0.8, 1.0) if own else (0.3, 0.5))]
    told = replace(reproduction, specifications=(beyond,), measurements=Measurements(scores, {}))
    line = report.own_line(told)
    assert "ε = 1, 2, 4" in line
    assert "Panorama (ours) 0.900 ± 0.041, Canopy (ours) 0.900 ± 0.041, TAPS 0.400 ± 0.041" in line
    assert report.own_line(replace(told, measurements=Measurements({}, {}))) == ""
    assert report.own_line(reproduction) == ""


def test_plots_need_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    require_plots()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match=r'pip install "treetop-ldp\[plot\]"'):
        require_plots()


def test_a_subset_of_users_depends_on_the_seed_alone(folder: Path) -> None:
    half = Variant("RDB", share=0.5)
    first, same, other = (FederationVariants(folder, seed).federation(half) for seed in (1, 1, 2))
    users = [[party.users.tolist() for party in each.parties] for each in (first, same, other)]
    assert users[0] == users[1] != users[2]
    with refused("histograms_missing", InvalidInput):
        FederationVariants(folder / "none", 1)


def test_bits_of_reports_without_a_trie() -> None:
    assert oracle_named("oue", Epsilon(4), 39_999).report_bits == 40_000
    assert oracle_named("olh", Epsilon(4), 39_999).report_bits == 32 + 6


def test_one_run_has_no_standard_error() -> None:
    from treetop.reproduction.verdicts import summary

    assert summary([Score(0.5, 0.5, 0.5, 1.0, 0.1)], "f1") == (0.5, None)


def test_the_report_takes_names_as_they_are(reproduction: Reproduction, tmp_path: Path) -> None:
    """No path or name ends a cell, becomes a tag, or keeps the page from being written."""
    hostile = "<script>alert(1)</script> | \ud800\x1b\u202e"
    told = replace(reproduction.provenances["RDB"], remark=hostile)
    changed = replace(reproduction, provenances={**reproduction.provenances, "RDB": told})
    write_report(changed, tmp_path, hostile)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; | \\ud800\\x1b\\u202e") >= 2
    assert "<script" not in page
    assert first_hidden(page.split("\n")) is None
    assert first_hidden((tmp_path / "report.md").read_text("utf-8").split("\n")) is None
    assert report._row("a|b", hostile) == ("| a&#124;b | &lt;script>alert(1)&lt;/script> &#124; \\ud800\\x1b\\u202e |")
