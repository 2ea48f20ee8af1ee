"""Documents say what is."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from tools.reference_pages import kept_pages
from tools.supply_chain.locks import LOCKS

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_up_to_date() -> None:
    for path, text in kept_pages().items():
        assert path.read_text() == text, f"{path.name} is stale: run `make docs`"


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_paper_map_names_files_that_exist() -> None:
    for name in re.findall(r"`((?:src|tests|benchmarks)/[\w/.]+)`", (ROOT / "docs" / "paper_map.md").read_text()):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_requirement_has_a_hash_and_no_address(name: str) -> None:
    text = LOCKS[name].read_text()
    assert "://" not in text
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.\-\[\]]+==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


def test_every_runtime_dependency_is_justified() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "ARCHITECTURE.md").read_text()
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    for requirement in project["dependencies"] + extras:
        match = re.match(r"[\w\-]+", requirement)
        assert match is not None
        assert f"| {match[0]} |" in page, requirement


def test_the_readme_shows_what_make_demo_prints() -> None:
    from tests.support.every_command import app
    from typer.testing import CliRunner

    shown = CliRunner().invoke(app, ["demo", "--seed", "1", "--workers", "1"]).output
    readme = (ROOT / "README.md").read_text()
    first_table = shown[: shown.index("Means of")].strip()
    (drawn_by,) = re.findall(r"numpy (\d+\.\d+) of Python 3.11 draws", readme)
    if not version("numpy").startswith(f"{drawn_by}."):  # another one draws other numbers from a seed
        first_table = first_table.partition("\n\n")[0]
    assert "\n".join(line.rstrip() for line in first_table.splitlines()) in readme


def test_every_test_that_the_promises_name_is_there() -> None:
    names = set(re.findall(r"`((?:tests/[a-z_/]*/)?test_[a-z_]+\.py)`", (ROOT / "docs" / "reliability.md").read_text()))
    known = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(names) > 15
    assert {name for name in names if not any(path.endswith(name) for path in known)} == set()


def test_the_readmes_commands_on_files_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    from tests.support.every_command import app
    from typer.testing import CliRunner

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    block = (ROOT / "README.md").read_text().partition("## On your own files")[2].split("```")[1]
    lines = [shlex.split(line, comments=True) for line in block.strip().splitlines()]
    assert len(lines) >= 8
    for program, *words in lines:
        assert program == ".venv/bin/treetop"
        workers = ["1" if before == "--workers" else word for before, word in zip(["", *words], words, strict=False)]
        done = CliRunner().invoke(app, workers)  # one process: the numbers are the same
        assert done.exit_code == 0, (words, done.output, done.exception)
    assert (tmp_path / "rows.parquet").exists()
