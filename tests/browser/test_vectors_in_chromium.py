"""Every vector holds in a real browser, too."""

from tests.support.chromium import Chromium
from tests.support.typescript import Site

RUN = """
(async () => {
  const { CHECKS } = await import("/build/tests/support/vectors.js");
  const read = async (name) => (await fetch(`/vectors/${name}`)).json();
  const failures = [];
  for (const [name, run] of CHECKS) await run(read).catch((error) => failures.push(`${name}: ${error.stack}`));
  return [CHECKS.length, failures];
})()
"""


def test_every_vector_holds_in_a_browser(site: Site, browser: Chromium) -> None:
    tab = browser.tab(site.origin)
    checks, failures = tab.run(RUN)
    assert failures == []
    assert checks > 14
    browser.forget(tab.profile)
