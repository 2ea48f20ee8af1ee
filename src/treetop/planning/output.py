"""Where the plot of a plan may go."""

from importlib.util import find_spec
from pathlib import Path

from treetop.errors import InvalidInput

ENDINGS = (".png", ".svg")


def checked_plot(path: Path) -> Path:
    """Refuse, before anything is computed, a plot that could not be drawn or written."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"{path}: expected a plot ending in {' or '.join(ENDINGS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"{path}: expected a file in a folder that exists")
    if find_spec("matplotlib") is None:
        raise InvalidInput("a plot needs matplotlib: install it with `pip install 'treetop[plot]'`")
    return path
