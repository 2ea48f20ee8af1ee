"""The how-to of a survey on one's own site, pasted block by block into a shell; people answer in a real browser."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from shutil import which

from tests.browser.test_survey_element import IN_SURVEY, shown
from tests.support.chromium import Chromium
from tests.support.typescript import ROOT, missing

from treetop.services.local.processes import free_ports

HOW_TO = (ROOT / "docs" / "how_to" / "survey_on_your_own_site.md").read_text()
SMALLER = {"--collect 10m": "--collect 30s --users 600 --seed 1"}


def test_every_block_of_the_how_to_runs(browser: Chromium, tmp_path: Path) -> None:
    if which("curl") is None:
        missing("the how-to calls curl")
    (port,) = free_ports(1)
    blocks = re.findall(r"```sh\n(.*?)```", HOW_TO, re.DOTALL)
    script = "\n".join(["set -e", "trap 'kill $(jobs -p) 2>/dev/null' EXIT", *blocks]).replace("8000", str(port))
    for told, small in SMALLER.items():
        assert told in script
        script = script.replace(told, small)
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "EXAMPLES": str(ROOT / "examples"),
        "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    with subprocess.Popen(
        ["bash", "-c", script], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as shell:
        own = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 120
        while not _answers(own):
            assert time.monotonic() < end
            assert shell.poll() is None
            time.sleep(0.2)
        tab = browser.tab(own)
        shown(tab, "Send")
        tab.run(f"{IN_SURVEY}.querySelector('input[value=plum]').click()")
        tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
        shown(tab, "Your report has arrived")
        tab.go(own)
        shown(tab, "sends nothing else")
        told, problems = shell.communicate(timeout=240)
    assert re.search(r'"tickets":\s*\["[0-9a-f]{48}"\]', told), problems
    assert "601 users in 2 parties" in told, problems
    assert "survey: http://127.0.0.1:" in problems
    browser.forget(tab.profile)


def _answers(url: str) -> bool:
    return subprocess.run(["curl", "--silent", "--fail", url], capture_output=True, check=False).returncode == 0


def test_the_page_of_the_how_to_is_one_that_the_element_understands() -> None:
    element = (ROOT / "sdk" / "typescript" / "src" / "survey" / "element.ts").read_text()
    (page,) = re.findall(r"<treetop-survey\n(.*?)>\n", HOW_TO, re.DOTALL)
    for attribute in re.findall(r'([a-z-]+)="', page):
        assert f'"{attribute}"' in element, attribute
