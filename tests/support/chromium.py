"""A real browser for tests, driven through its own debugging pipe: no package, no port, one process to end.

`Chromium` starts it without a window; every `Tab` has a profile of its own unless it shares one on purpose.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import Queue
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-features=Translate,MediaRouter,OptimizationHints", "--mute-audio", "--no-sandbox", "--hide-scrollbars",
)  # fmt: skip
"""Without the sandbox, since tests may run as root in a container; the only pages it loads are our own."""
ANSWER_SECONDS = 120
LAUNCHER = "import os, sys; [os.dup2(int(sys.argv[n]), n + 2) for n in (1, 2)]; os.execv(sys.argv[3], sys.argv[3:])"
"""The browser reads commands from descriptor 3 and writes answers to 4."""


def program() -> str | None:
    """Return where the browser is, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors are not 3 or 4."""
    low = os.pipe()
    high = fcntl.fcntl(low[0], fcntl.F_DUPFD_CLOEXEC, 10), fcntl.fcntl(low[1], fcntl.F_DUPFD_CLOEXEC, 10)
    for descriptor in low:
        os.close(descriptor)
    return high


class PageError(Exception):
    """What a page threw."""


@dataclass
class Chromium:
    """One browser."""

    process: "subprocess.Popen[bytes]"
    _to: int
    _from: int
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _waiting: dict[int, "Queue[dict[str, Any]]"] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)
    _happened: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Events by session, of those that were enabled."""

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator["Chromium"]:
        """Yield a browser whose files lie in a folder."""
        found = program()
        assert found is not None
        (command_out, command_in), (answer_out, answer_in) = _high_pipe(), _high_pipe()
        arguments = [found, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(command_out), str(answer_in), *arguments],
            pass_fds=(command_out, answer_in), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(command_out)
        os.close(answer_in)
        browser = cls(process, command_in, answer_out)
        reader = threading.Thread(target=browser._read, daemon=True)
        reader.start()
        try:
            browser.call("Browser.getVersion")
            yield browser
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(command_in)
            reader.join(20)

    def _read(self) -> None:
        with os.fdopen(self._from, "rb") as pipe:
            left = b""
            while part := pipe.read1(1 << 16):
                *messages, left = (left + part).split(b"\0")
                for message in map(json.loads, messages):
                    if "method" in message:
                        self._happened.setdefault(message.get("sessionId", ""), []).append(message)
                    if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None:
                        waiting.put(message)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number, answer = next(self._numbers), Queue[dict[str, Any]]()
        self._waiting[number] = answer
        self.send(number, method, session, **parameters)
        found = answer.get(timeout=ANSWER_SECONDS)
        if "error" in found:
            raise PageError(f"{method}: {found['error']['message']}")
        result: dict[str, Any] = found["result"]
        return result

    def send(self, number: int, method: str, session: str | None, **parameters: Any) -> None:
        """Send a command."""
        command = {"id": number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        with self._lock:
            os.write(self._to, json.dumps(command).encode() + b"\0")

    def profile(self) -> str:
        """Return a new profile: storage that no other one sees."""
        created: str = self.call("Target.createBrowserContext", disposeOnDetach=False)["browserContextId"]
        return created

    def forget(self, profile: str) -> None:
        """Close a profile and all its tabs."""
        self.call("Target.disposeBrowserContext", browserContextId=profile)

    def tab(self, url: str, profile: str | None = None) -> "Tab":
        """Open a page and wait until it is loaded."""
        context = profile or self.profile()
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, target, session, context)
        tab.go(url)
        return tab


@dataclass
class Tab:
    """One page of a browser."""

    browser: Chromium
    target: str
    session: str
    profile: str

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def go(self, url: str) -> None:
        """Load a page, and wait for its scripts."""
        self.call("Page.navigate", url=url)
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")

    def click(self, selector: str) -> None:
        """Click, once this call is answered: the page may be left by it."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"(() => {{ const found = {found}; setTimeout(() => found.click()); return found.tagName; }})()")

    def run(self, expression: str) -> Any:
        """Return what an expression gives, awaited."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def watch(self) -> None:
        """From here on, remember what the page asks for and complains about."""
        for domain in ("Network", "Log", "Runtime", "Audits"):
            self.call(f"{domain}.enable")

    def requests(self) -> list[str]:
        """Return the addresses that the page has asked for since `watch`."""
        return [each["params"]["request"]["url"] for each in self._events("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Return errors and warnings of the console, exceptions, and what the security policy forbade."""
        logged = [each["params"]["entry"] for each in self._events("Log.entryAdded")]
        said = [each["params"] for each in self._events("Runtime.consoleAPICalled")]
        thrown = [each["params"]["exceptionDetails"] for each in self._events("Runtime.exceptionThrown")]
        issues = [each["params"]["issue"] for each in self._events("Audits.issueAdded")]
        return [
            *(f"{entry['text']} {entry.get('url', '')}" for entry in logged if entry["level"] in ("error", "warning")),
            *(str(call["args"]) for call in said if call["type"] in ("error", "warning", "assert")),
            *(details.get("exception", {}).get("description", details["text"]) for details in thrown),
            *(str(issue) for issue in issues if issue["code"] == "ContentSecurityPolicyIssue"),
        ]

    def _events(self, method: str) -> list[dict[str, Any]]:
        return [each for each in list(self.browser._happened.get(self.session, ())) if each["method"] == method]

    def wait_for(self, condition: str, seconds: float = 60) -> None:
        """Wait until an expression is true, on whatever page the tab is by then."""
        end, found = time.monotonic() + seconds, False
        while not found:
            assert time.monotonic() < end, condition
            try:
                found = bool(self.run(f"!!({condition})"))
            except PageError:  # the page is being left, or what is looked for is not there yet
                found = False
            time.sleep(0.03)

    def begin(self, expression: str) -> None:
        """Start something, and do not wait for it."""
        self.call("Runtime.evaluate", expression=expression, awaitPromise=False)

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": {"Enter": 13, "Tab": 9, " ": 32}.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def write(self, text: str) -> None:
        """Type a text where the cursor is."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Be a screen of that size and colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """Return a screenshot, PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"])

    def kill(self) -> None:
        """Kill the page's process, whatever it is doing, as a crash or a phone short of memory does."""
        self.browser.send(0, "Page.crash", self.session)  # nobody is left to answer

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)
