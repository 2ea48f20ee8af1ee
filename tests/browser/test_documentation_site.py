"""The documentation as a site in a real browser: every page fits a phone, and the search works without a server."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.chromium import Chromium, Tab
from tests.support.documentation import built_site

PHONE, DESK = 390, 1280


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Chromium) -> Path:
    return built_site(tmp_path_factory.mktemp("documentation"))


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    tab = browser.tab("about:blank#")
    tab.watch()
    yield tab
    tab.close()


def test_no_page_is_wider_than_its_screen_or_asks_another_host(site: Path, tab: Tab) -> None:
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    assert len(pages) > 40
    wide = {}
    for page in pages:
        tab.go(page.as_uri())
        for width in (PHONE, DESK):
            tab.look(width, 900)
            found = tab.run("document.documentElement.scrollWidth")
            if found > width:
                wide[f"{page.relative_to(site)} at {width}"] = found
    assert wide == {}
    assert tab.complaints() == []
    assert {urlsplit(url).scheme for url in tab.requests()} <= {"file", "data"}


def test_the_search_finds_words_without_a_server(site: Path, tab: Tab) -> None:
    tab.go((site / "search.html").as_uri() + "?q=ledger")
    tab.wait_for("document.querySelectorAll('#search-results li a').length > 0")
    found = tab.run("[...document.querySelectorAll('#search-results li a')].map((each) => each.href)")
    assert any("budgets" in address for address in found), found
    tab.go((site / "search.html").as_uri() + "?q=zxqvnonsense")
    tab.wait_for("document.querySelector('#search-results').innerText.includes('did not match')")
    assert tab.complaints() == []
