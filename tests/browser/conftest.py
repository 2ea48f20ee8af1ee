"""One browser and one site for all tests of this room."""

from collections.abc import Iterator

import pytest
from tests.support.chromium import Chromium
from tests.support.typescript import Site, built, check_browser, serving


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    built()
    with serving(Site()) as site:
        yield site


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    check_browser()
    with Chromium.started(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
