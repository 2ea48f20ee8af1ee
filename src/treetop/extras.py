"""Packages that not everybody needs: what to install where one is missing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from treetop.errors import InvalidInput

DISTRIBUTION = "treetop-ldp"
"""What is installed; what is imported and run is `treetop`."""
_OPTIONAL = re.compile(r"""([A-Za-z0-9._-]+).*;.*extra == ['"]([a-z]+)['"]""")


class MissingExtra(InvalidInput):
    """Something that needs a package which Treetop does without otherwise; the message is the command to get it."""

    def __init__(self, what: str, extra: str, module: str | None) -> None:
        self.extra = extra
        self.module = module
        super().__init__(f'{what} needs {module}, which is not installed: pip install "{DISTRIBUTION}[{extra}]"')


@contextmanager
def needed_for(what: str, extra: str) -> Iterator[None]:
    """Import what only an extra installs: where it is missing, the error names the extra."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingExtra(what, extra, missing.name) from None


def extra_with(module: str | None) -> str | None:
    """Return the extra that installs a module, by the package's own metadata."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415  slow to load, and rarely needed

    top = (module or "").partition(".")[0].replace("_", "-").lower()
    try:
        listed = [found.groups() for line in requires(DISTRIBUTION) or [] if (found := _OPTIONAL.match(line))]
    except PackageNotFoundError:  # run from a folder that nobody installed
        return None
    named = ((name.replace("_", "-").lower(), extra) for name, extra in listed)
    return next((extra for name, extra in named if name == top or (top and name.startswith(f"{top}-"))), None)
