"""The report of a reproduction in a real browser: on a phone and on a desk, light and dark."""

import pytest
from tests.support.chromium import Chromium, Tab
from tests.support.histogram_folders import small_folder
from tests.support.page_checks import stand
from tests.support.small_reproductions import small_reproducer

from treetop.reproduction.report import write_report

NAMES = ("federations", "oracles", "step_size", "extension", "local_recall")
COMMAND = "treetop reproduce --data " + "a/rather/long/folder" * 8
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    output = tmp_path_factory.mktemp("reproduction")
    running = small_reproducer(NAMES, small_folder(output / "data"), output / "out")
    running.run(1)
    write_report(running.finished(), output / "out", COMMAND)
    return (output / "out" / "report.html").as_uri()


@pytest.fixture
def tab(browser: Chromium, page: str) -> Tab:
    tab = browser.tab("about:blank#")
    tab.watch()
    tab.go(page)
    tab.run(OPEN_ALL)
    return tab


def test_the_page_fits_a_phone_and_wide_tables_scroll_in_their_own_box(tab: Tab) -> None:
    for width in (390, 1280):
        tab.look(width, 900)
        assert tab.run("document.documentElement.scrollWidth") <= width
    tab.look(390, 900)
    boxes = tab.run("[...document.querySelectorAll('.wide')].map((box) => [box.scrollWidth, box.clientWidth])")
    assert any(inner > outer for inner, outer in boxes)
    assert all(outer <= 390 for _, outer in boxes)


def test_panels_take_the_whole_width_of_a_phone_and_their_texts_can_be_read(tab: Tab) -> None:
    tab.look(390, 900)
    panels = tab.run("[...document.querySelectorAll('.panels svg')].map((each) => each.getBoundingClientRect().width)")
    assert len(panels) == 2 * 4
    assert all(width > 340 for width in panels)
    scales = tab.run("[...document.querySelectorAll('.panels svg')].map((each) => each.getScreenCTM().a)")
    assert all(10 * scale >= 11 for scale in scales)  # texts are 10 units high


def test_words_are_explained_and_no_internal_name_is_shown(tab: Tab) -> None:
    text = tab.run("document.body.innerText")
    for word in ("Normalised cumulative rank", "chance could explain it", "cannot be checked", "Panorama (ours)"):
        assert word in text
    for name in ("f1_by_epsilon", "local_recall", "uplink_bits", "best_differs"):
        assert name not in text.replace("treetop reproduce", "")


def test_the_page_shuts_nobody_out(tab: Tab) -> None:
    stand(tab, "file://", name="reproduction")
