"""Fragments of `changes/` become entries of the changelog."""

from pathlib import Path

import pytest
from tools.changelog import CHANGELOG, FRAGMENTS, KINDS, assembled, fragments_in

OLD = "# Changelog\n\n## 0.1.0\n\n### Added\n\n- A door.\n"


def test_a_new_version_goes_on_top_and_older_ones_stay() -> None:
    new = assembled(OLD, "0.2.0", {"added": ["A window.\nIt opens.\n"], "promises": ["The door is locked.\n"]})
    assert new == (
        "# Changelog\n\n## 0.2.0\n\n### Promises\n\n- The door is locked.\n\n### Added\n\n- A window.\n  It opens.\n\n"
        "## 0.1.0\n\n### Added\n\n- A door.\n"
    )


def test_the_same_version_is_added_to() -> None:
    once = assembled(OLD, "0.1.0", {"added": ["A window."], "fixed": ["A hinge."]})
    assert once == f"{OLD}- A window.\n\n### Fixed\n\n- A hinge.\n"
    assert assembled(once, "0.1.0", {"fixed": ["A lock."]}) == f"{once}- A lock.\n"


def test_a_fragment_names_its_kind(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("what this is")
    (tmp_path / "door.added.md").write_text("A door.")
    assert fragments_in(tmp_path) == {tmp_path / "door.added.md": "added"}
    (tmp_path / "window.md").write_text("A window.")
    with pytest.raises(ValueError, match=r"window\.md"):
        fragments_in(tmp_path)


def test_what_is_there_can_be_assembled() -> None:
    assert {*fragments_in(FRAGMENTS).values()} <= {*KINDS}
    assert assembled(CHANGELOG.read_text(), "9.9.9", {"fixed": ["A hinge."]}).endswith(
        CHANGELOG.read_text().partition("\n## ")[2]
    )
