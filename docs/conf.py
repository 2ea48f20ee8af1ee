"""The documentation as a site: `make site`. Everything is in the pages; nothing is fetched when one is read."""

import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project, author = "Treetop", _PROJECT["authors"][0]["name"]
release = version = _PROJECT["version"]
project_copyright = f"{author}, Apache License 2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest"]
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
highlight_language = "none"  # blocks that name no language are commands and what they print
default_role = "code"  # docstrings write code between single backticks
html_theme = "furo"
html_title = f"Treetop {release}"
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # they are fetched page by page, which no browser allows from a folder
html_theme_options = {"sidebar_hide_name": False}
html_static_path = ["site_static"]
html_css_files = ["site.css"]
html_extra_path = ["reference/party_openapi.json", "reference/server_openapi.json"]
linkcheck_ignore = [".*"]  # links inside the site are checked by every build; nothing outside is ever asked
BESIDE = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")
"""Files beside docs/ that the site shows among the pages of the project."""
_ERROR = re.compile(r"(?m)^\|.*±.*\|$")
"""A row with standard errors, which stay on the line of their means."""
_EXAMPLE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(examples/[^)]+)\)")


def _link_inside(_: Sphinx, page: str, source: list[str]) -> None:
    """Show what lies beside docs/, point links to it at the site's own pages, and name examples instead of linking."""
    up, text = "../" * page.count("/"), source[0]
    beside = page.removeprefix("project/").upper()
    if beside in BESIDE:
        text = (ROOT / f"{beside}.md").read_text("utf-8").replace("](docs/", "](../")
    for name in BESIDE:
        inside = f"{up}project/{name.lower()}.md"
        text = text.replace(f"]({up}../{name}.md", f"]({inside}").replace(f"]({name}.md", f"]({inside}")
    text = _ERROR.sub(lambda row: row[0].replace(" ± ", "\u00a0±\u00a0"), text)
    source[0] = _EXAMPLE.sub(r"\1 (`\2`)", text)


def setup(app: Sphinx) -> None:
    """Make the pages that git does not keep, and register what is done to every page before it is read."""
    from tools import reference_pages  # noqa: PLC0415  found by the path above

    reference_pages.write(reference_pages.site_pages())
    app.connect("source-read", _link_inside)
