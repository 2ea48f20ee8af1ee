"""The page of `treetop up --survey` in a browser: on this machine, and over https as a phone sees it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.test_devices_in_chromium import PartyOfPages
from tests.browser.test_law_of_devices import party  # noqa: F401  a fixture
from tests.browser.test_survey_element import IN_SURVEY, shown
from tests.support.chromium import Chromium
from tests.support.parties import NAME, SIGNING

from treetop.adapters.system.telemetry import StructuredLog
from treetop.services.local.survey import SurveyPlan, SurveyTask
from treetop.services.local.survey_site import SurveySite


@pytest.fixture
def page(party: PartyOfPages, tmp_path: Path) -> Iterator[SurveySite]:  # noqa: F811  the fixture
    choices = ("7", "9", "<script>alert(1)</script>")
    task = SurveyTask(party.task.digest.hex(), NAME, party.url, SIGNING.public, choices, tmp_path / "key")
    with SurveySite(SurveyPlan("Which?", 60), task, lambda: party.tickets(1)[0], tmp_path, StructuredLog()) as site:
        yield site


@pytest.mark.parametrize("phone", [False, True], ids=["on this machine", "phone"])
def test_people_answer(browser: Chromium, party: PartyOfPages, page: SurveySite, phone: bool) -> None:  # noqa: F811
    url = page.listen_to_phones("127.0.0.1")[0] if phone else page.listen("127.0.0.1")
    tab = browser.tab("data:text/html,")
    if phone:
        tab.look(390, 844)
        tab.call("Security.setIgnoreCertificateErrors", ignore=True)  # the tap on "visit this site"
    tab.go(url)
    assert "<script>alert(1)</script>" in shown(tab, "Which?")
    assert tab.run("isSecureContext")
    tab.run(f"{IN_SURVEY}.querySelector('input').click()")
    tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
    shown(tab, "Your report has arrived")
    assert party.stored.total() == 1
    tab.go(url)
    shown(tab, "sends nothing else")
    assert page.handed_out == 1
    browser.forget(tab.profile)
