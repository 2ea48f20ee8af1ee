"""What every page must stand, in a real browser: no other host, no complaint, nothing that shuts somebody out."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.chromium import Tab
from tests.support.typescript import PACKAGE, missing

AXE = PACKAGE / "node_modules" / "axe-core" / "axe.min.js"
"""One of the locked tools of the device for browsers, installed by `make sdk`."""
SERIOUS = ("serious", "critical")
WIDTHS = (1280, 390)


def violations(tab: Tab) -> list[str]:
    """Return what axe-core finds on a page that is serious or worse."""
    if not AXE.exists():
        missing("axe-core is not installed: run `make sdk`")
    tab.run(AXE.read_text("utf-8") + "; 1")
    found = json.loads(
        tab.run("axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found))")
    )
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]}"
        for each in found["violations"]
        for node in each["nodes"]
        if each["impact"] in SERIOUS
    ]


def other_hosts(tab: Tab, base: str) -> set[str]:
    """Return requests to anybody but the service since `Tab.watch`."""
    parts = (urlsplit(url) for url in tab.requests())
    return {f"{url.scheme}://{url.netloc}" for url in parts if f"{url.scheme}://{url.netloc}" != base}


def stand(tab: Tab, base: str, folder: Path | None = None, name: str = "") -> None:
    """Fail a page that asks another host, complains, shuts somebody out, or is wider than a screen."""
    for width in WIDTHS:
        for dark in (False, True):
            tab.look(width, 900, dark=dark)
            found = violations(tab)
            assert not found, found
            wide = tab.run("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} wide on a screen of {width}"
            if folder is not None:
                tab.look(
                    width, min(2400, max(500, tab.run("document.querySelector('main').scrollHeight + 90"))), dark=dark
                )
                (folder / f"page_{name}_{width}_{'dark' if dark else 'light'}.png").write_bytes(tab.picture())
    tab.look(1280, 900)
    others, complaints = other_hosts(tab, base), tab.complaints()
    assert not others, others
    assert not complaints, complaints
