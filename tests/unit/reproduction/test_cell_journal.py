from pathlib import Path

from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.query.find import Score
from treetop.reproduction.run import CellJournal, RunSettings, begun_settings, key_of, open_folder
from treetop.reproduction.specification import all_specifications, distinct_cells

SETTINGS = RunSettings(1, 5, "0.1.0", "2.0.0")
SCORES = (Score(0.1, 1 / 3, 0.3, 400.0, 0.01), Score(0.2, 0.5, 0.4, 401.0, 0.02))


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    journal = open_folder(tmp_path / "new" / "folder", SETTINGS, resume=False)
    assert journal.read() == {}
    journal.append("a", SCORES)
    journal.append("b", SCORES[:1])
    journal.append("b", SCORES)
    assert journal.read() == {"a": SCORES, "b": SCORES[:1]}
    assert begun_settings(journal.path.parent) == SETTINGS


def test_a_line_that_was_cut_short_is_dropped(tmp_path: Path) -> None:
    journal = CellJournal(tmp_path)
    journal.append("a", SCORES)
    whole = journal.path.read_bytes()
    journal.append("b", SCORES)
    both = journal.path.read_bytes()
    for cut in range(len(whole), len(both)):
        journal.path.write_bytes(both[:cut])
        assert list(journal.read()) == ["a"]
        assert journal.path.read_bytes() == whole


def test_damage_elsewhere_is_refused(tmp_path: Path) -> None:
    journal = CellJournal(tmp_path)
    for damage in (b"nonsense\n", b'{"cell": "a"}\n', b'{"cell": "a", "scores": {"f1": [1]}}\n'):
        journal.path.write_bytes(damage)
        with refused("run_line_damaged", InvalidInput, number=1):
            journal.read()
    (tmp_path / "run.json").write_text("{}")
    with refused("run_file_damaged", InvalidInput):
        open_folder(tmp_path, SETTINGS, resume=True)


def test_a_folder_in_use_needs_resume_and_the_same_settings(tmp_path: Path) -> None:
    open_folder(tmp_path, SETTINGS, resume=False)
    with refused("run_exists", InvalidInput):
        open_folder(tmp_path, SETTINGS, resume=False)
    with refused("run_differs", InvalidInput):
        open_folder(tmp_path, RunSettings(2, 5, "0.1.0", "2.0.0"), resume=True)
    open_folder(tmp_path, SETTINGS, resume=True)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused("folder_not_writable", InvalidInput, reason="Not a directory"):
        open_folder(tmp_path / "file" / "below", SETTINGS, resume=False)


def test_every_cell_has_a_key_of_its_own() -> None:
    cells = distinct_cells(list(all_specifications().values()))
    keys = {key_of(planned, "abc") for planned in cells}
    assert len(keys) == len(cells)
    assert not keys & {key_of(planned, "abd") for planned in cells}
