"""The documentation as a site: every link leads somewhere, every page is reached, nothing is fetched from elsewhere."""

import re
from pathlib import Path

import pytest
from tests.support.documentation import built_site

LOADED = re.compile(r'<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)="(?:https?:)?//[^"]*"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory.mktemp("site"))


def test_pages_load_nothing_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert {page.name: found for page in pages if (found := LOADED.findall(page.read_text("utf-8")))} == {}
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet


def test_the_reference_has_every_public_name_with_its_docstring(site: Path) -> None:
    import treetop

    page = (site / "reference" / "python_api.html").read_text("utf-8")
    for name in treetop.__all__:
        assert f'id="treetop.{name}"' in page, name
    assert "found under epsilon-LDP by a simulated run" in page


def test_words_are_found(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert all(word in index for word in ("epsilon", "campaign", "audit"))
