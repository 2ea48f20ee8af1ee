"""Notebooks run from their first cell to their last, and are kept without outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_comparison_is_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            exec("".join(cell["source"]), names)  # noqa: S102  our own notebook
    assert names["answer"].truth.f1 > 0
    assert "<table" in names["answer"]._repr_html_()
    assert len(capsys.readouterr().out.splitlines()) == len(names["rows"]) > 1
