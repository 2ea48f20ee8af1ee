from pathlib import Path

import pytest
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.reproduction.specification import (
    Specification,
    all_specifications,
    distinct_cells,
    specification_names,
    specifications_named,
)
from treetop.toml_files import parse_toml

PAPER = Path(__file__).parents[4] / "shared" / "paper" / "paper.tex"
SPECIFICATIONS = all_specifications()
FIGURES_WITHOUT_VALUES = {"ncr_by_epsilon", "oracles", "pruning"}


def test_every_table_and_figure_of_the_paper_is_there() -> None:
    sources = {each.source.partition(",")[0] for each in SPECIFICATIONS.values()}
    assert sources == {
        "table_dataset", "fig_F1", "fig_NCR", "fig_different_FO", "fig_without_pruning", "table_different_stepsize",
        "table_scalability", "table_adaptive_extension_number", "table_wo_shared_trie",
        "table_statistical_heterogeneity", "table_data_heterogeneity", "table_communication_cost", "Not in the paper",
    }  # fmt: skip


@pytest.mark.parametrize("specification", SPECIFICATIONS.values(), ids=SPECIFICATIONS)
def test_claims_and_printed_values_name_what_is_there(specification: Specification) -> None:
    labels = {series.label for series in specification.series} | {name.upper() for name in specification.computed}
    cases = {case.label for case in specification.cases}
    for claim in specification.claims:
        assert {claim.greater, *claim.than} - {""} <= labels
        assert {claim.case, claim.over} - {""} <= cases
        assert claim.unchecked or claim.metric in specification.metrics
    for row in specification.paper:
        if specification.kind != "federations":
            assert set(row.values) <= labels
            assert row.case in cases
            assert row.metric in specification.metrics


def test_figures_without_printed_values_say_so() -> None:
    for specification in SPECIFICATIONS.values():
        if specification.name in FIGURES_WITHOUT_VALUES:
            assert "The paper prints no values of this figure" in specification.note
            assert not specification.paper


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not part of the project")
@pytest.mark.parametrize("specification", SPECIFICATIONS.values(), ids=SPECIFICATIONS)
def test_printed_values_stand_in_the_line_they_are_said_to_stand_in(specification: Specification) -> None:
    lines = PAPER.read_text(encoding="utf-8").splitlines()
    for row in specification.paper:
        near = " ".join(lines[row.line - 1 : row.line + (8 if "party" in row.metric else 1)]).replace(",", "")
        for value in row.values.values():
            if specification.kind == "federations" and value in (2, 4, 6, 8):
                continue
            scaled = value / 1000 if row.metric == "uplink_bits" and not isinstance(value, str) else value
            assert isinstance(scaled, str) or f"{scaled:.10g}" in near, (row, value)


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not part of the project")
def test_sources_stand_in_the_line_they_are_said_to_stand_in() -> None:
    lines = PAPER.read_text(encoding="utf-8").splitlines()
    for specification in SPECIFICATIONS.values():
        label, _, line = specification.source.partition(", line ")
        if line:
            assert any(f"label{{{label}}}" in text for text in lines[int(line) - 3 : int(line) + 40])


def test_cells_shared_by_several_figures_are_run_once() -> None:
    f1, ncr = specifications_named(["ncr_by_epsilon", "f1_by_epsilon"])
    assert distinct_cells([f1, ncr]) == distinct_cells([f1])
    assert len(distinct_cells([f1])) == 5 * 3 * 5 * 3
    pruning = SPECIFICATIONS["pruning"]
    assert len(distinct_cells([f1, pruning])) == 5 * 3 * 5 * 4


def test_step_sizes_are_numbers_of_levels() -> None:
    levels = {
        len(planned.cell.mechanism.levels(planned.cell.parameters)) for planned in SPECIFICATIONS["step_size"].planned()
    }
    assert levels == {24, 12, 8}


def test_a_file_is_named_after_what_it_specifies() -> None:
    assert specification_names() == tuple(SPECIFICATIONS)


def test_names_are_in_the_papers_order_and_unknown_ones_are_refused() -> None:
    assert [each.name for each in specifications_named([])] == list(SPECIFICATIONS)
    assert [each.name for each in specifications_named(["cost", "pruning", "cost"])] == ["pruning", "cost"]
    with refused("unknown_name", InvalidInput, kind="table or figure", found="stepsize", nearest="step_size"):
        specifications_named(["stepsize"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('kind = "song"', "unknown x: kind 'song'"),
        ('kind = "table"\nfederations = ["ABC"]', "unknown x: federation 'ABC'"),
        ('kind = "table"\nmetrics = ["f2"]', "unknown x: metric 'f2'.*did you mean 'f1'"),
        ('kind = "table"\ncolour = "red"', "x.toml: unknown key 'colour'"),
        ('kind = "table"\n[[series]]\nlabel = "a"\nmechanism = "tap"\nstep = 3', r"key 'series\[0\].step'"),
        ('kind = "table"\n[[cases]]\nlabel = "a"\n[[cases]]\nlabel = "a"', "every label must be used once"),
        ('kind = "table"\n[[claims]]\ntext = "a"\nline = 1\nmetric = "f1"\nthan = []\nrule = "odd"', "rule of a claim"),
    ],
)
def test_a_specification_with_a_mistake_is_refused(change: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_toml(f'name = "x"\ntitle = "x"\nsource = "x"\n{change}', Specification, "x.toml")
