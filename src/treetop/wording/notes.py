"""Notes and choices: what a result says about itself."""

from treetop.wording import Wording

NOTES: dict[str, Wording] = {
    "rows_added_up": "{rows:,} repeated (party, item) rows were added up",
}
