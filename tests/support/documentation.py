"""The documentation as a site, built for tests."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def built_site(folder: Path) -> Path:
    """Build the site as `make site` does, where a warning is an error; return where its pages are."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(folder / "trees"), "-b", "html",
         str(ROOT / "docs"), str(folder / "site")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "site"
