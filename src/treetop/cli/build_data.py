"""`treetop build-data`: histograms of a federation from corpora that the user has or fetches."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from treetop.answers.result_files import checked_output
from treetop.cli.output import write_or_rescue
from treetop.cli.screen import Json, note, out, print_json, progress_bar
from treetop.datasets.build import Builder, built_parties, histogram_table, read_recipe
from treetop.datasets.loading import write_histograms

RecipeFile = Annotated[
    Path,
    typer.Argument(metavar="RECIPE", help="TOML file that names the parties and their corpora.", show_default=False),
]
Output = Annotated[Path, typer.Option("--output", help="Parquet file for the histograms.")]
Downloads = Annotated[
    Path | None,
    typer.Option("--downloads", help="Folder for fetched corpora.", show_default="downloads, beside the recipe"),
]


def build_data(
    recipe: RecipeFile,
    output: Output = ...,  # type: ignore[assignment]
    downloads: Downloads = None,
    json: Json = False,
) -> None:
    """Count items in corpora: one random word of every record, or one random item of every user of a click log."""
    read = read_recipe(recipe)
    target = checked_output(output, (".parquet",))
    with progress_bar("records", None) as bar:
        builder = Builder(
            read,
            recipe.parent,
            downloads or recipe.parent / "downloads",
            fetched=Download(bar),
            counted=lambda number: bar.advance(bar.task_ids[0], number),
        )
        counts = builder.build()
        table = histogram_table(counts, builder.checksums, read.seed)
        write_or_rescue(target, lambda path: write_histograms(table, path))
    parties = built_parties(read, counts)
    for party in parties:
        if party.asked is not None and party.users < party.asked:
            note(f"{party.name}: {party.asked:,} users were asked for, the corpus gives {party.users:,}")
    if json:
        checksums = builder.checksums
        print_json({"output": str(target), "parties": [asdict(party) for party in parties], "sha256": checksums})
        return
    for party in parties:
        out.print(f"{party.name}: {party.users:,} users, {party.items:,} items")
    out.print(f"{target} holds the histograms.", soft_wrap=True)


class Download:
    """Shows a running download as a second line."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.task = bar.add_task("bytes", visible=False)

    def __call__(self, done: int, total: int | None) -> None:
        """Move the line on."""
        self.bar.update(self.task, completed=done, total=total, visible=True)
