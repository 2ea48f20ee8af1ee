"""Where the bridge to Flower is installed, and the mark of checks that need it."""

import os
from pathlib import Path

import pytest

ENVIRONMENT = Path(os.environ.get("TREETOP_FLOWER", Path(__file__).parents[2] / ".venv-flower"))
PROGRAMS = ENVIRONMENT / "bin"
NEEDS_FLOWER = [
    pytest.mark.slow,
    pytest.mark.skipif(not (PROGRAMS / "treetop-flower").exists(), reason="`make flower` was not run"),
]
