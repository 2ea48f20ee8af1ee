"""What Python ships of the TypeScript package is what its sources make."""

import subprocess

import pytest
from tests.support.typescript import PACKAGE, ROOT, built, node

from treetop.services.local.survey import SCRIPTS

SHIPPED = ROOT / "src" / "treetop" / "services" / "local" / "survey_page"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_shipped_survey_is_what_the_sources_make(name: str) -> None:
    made = built() / "dist" / name.removeprefix("treetop-")
    assert (SHIPPED / name).read_bytes() == made.read_bytes(), "run `make sdk-copy`"


def test_its_types_are_written_for_those_who_use_it() -> None:
    built()
    done = subprocess.run(
        [node(), "node_modules/typescript/bin/tsc", "--project", "tsconfig.types.json"],
        cwd=PACKAGE, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "openDevice" in (PACKAGE / "dist" / "types" / "browser.d.ts").read_text()
