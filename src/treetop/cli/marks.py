"""Whether an item stands out from noise, in one character."""

from collections.abc import Sequence

from treetop.cli.screen import out

STANDS_OUT, NOISE = "●", "○"


def mark_of(significant: bool | None) -> str:
    """Return what stands behind an item's rank."""
    return {True: f" {STANDS_OUT}", False: f" {NOISE}", None: ""}[significant]


def show_standing(marks: Sequence[bool]) -> None:
    """Say how many items stand out from noise, where that was tested."""
    if marks:
        others = f"; {NOISE} may be noise" if not all(marks) else ""
        out.print(f"{STANDS_OUT} {sum(marks)} of {len(marks)} items stand out from noise{others}.")
