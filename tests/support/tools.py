"""Programs of others that check what is ours, where they are installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def told_by(name: str, *arguments: object, sent: str = "") -> tuple[int, str]:
    """Run a program of this environment or of the machine; return its exit status and all that it said, or skip."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [found, *map(str, arguments)], input=sent, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr
