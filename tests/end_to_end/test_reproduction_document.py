"""The page on the reproduction: its recipes are read, and its figures are there and small."""

import re
from pathlib import Path

import pytest

from treetop.datasets.build import Recipe
from treetop.toml_files import parse_toml

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "reproduction.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def test_the_page_shows_recipes() -> None:
    assert len(RECIPES) >= 2


@pytest.mark.parametrize("text", RECIPES)
def test_every_recipe_is_read(text: str) -> None:
    parse_toml(text, Recipe, "reproduction.md")


def test_every_figure_is_there_and_small() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", TEXT)
    assert len(pictures) == 5
    for picture in pictures:
        assert (DOCS / picture).stat().st_size < 150_000
