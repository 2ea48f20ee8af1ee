"""The TypeScript package for tests: built once, run by Node, served to a browser; skipped where there is neither.

`TREETOP_BROWSER=required` makes a missing Node or browser a failure: so runs the continuous integration.
"""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from tests.support.chromium import program

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sdk" / "typescript"
OLDEST_NODE = 20
KINDS = {".js": "text/javascript", ".json": "application/json", ".html": "text/html; charset=utf-8"}
EMPTY_PAGE = b"<!doctype html><meta charset=utf-8><title>device</title>"


def missing(reason: str) -> None:
    """Skip a test, or fail it where the package must be tested."""
    if os.environ.get("TREETOP_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def node() -> str:
    """Return where Node is."""
    found = shutil.which("node")
    told = [found, "--version"] if found else ["echo", "none"]
    version = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    number = re.match(r"v(\d+)", version)
    if found is None or number is None or int(number[1]) < OLDEST_NODE:
        missing(f"the TypeScript device needs Node {OLDEST_NODE} or newer, found {version.strip()}")
    return str(found)


def built() -> Path:
    """Return the package's folder, built anew where a source is newer than what was built."""
    runner = node()
    if not (PACKAGE / "node_modules" / "esbuild").exists():
        missing("the TypeScript device's tools are not installed: run `make sdk`")
    with (PACKAGE / "node_modules" / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [path for folder in ("src", "tests") for path in (PACKAGE / folder).rglob("*.ts")]
        newest = max(path.stat().st_mtime for path in [*sources, PACKAGE / "build.mjs"])
        survey = PACKAGE / "dist" / "survey.js"
        if not survey.exists() or survey.stat().st_mtime < newest:
            subprocess.run([runner, "build.mjs"], cwd=PACKAGE, check=True, timeout=300)
    return PACKAGE


def check_browser() -> None:
    """Skip where there is no browser."""
    if program() is None:
        missing("no Chromium is installed: apt-get install chromium")


@dataclass
class Site:
    """A web site on this machine: the package, the vectors, and whatever pages a test adds."""

    pages: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    origin: str = ""

    def content(self, path: str) -> tuple[bytes, str] | None:
        if path in self.pages:
            return self.pages[path](), ".html" if not Path(path).suffix else Path(path).suffix
        folders = {"/build/": PACKAGE / "build", "/dist/": PACKAGE / "dist", "/vectors/": ROOT / "tests" / "vectors"}
        for start, folder in folders.items():
            file = folder / path.removeprefix(start)
            if path.startswith(start) and ".." not in path and file.is_file():
                return file.read_bytes(), file.suffix
        return (EMPTY_PAGE, ".html") if path == "/" else None


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve a site from a thread while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            pass

        def do_GET(self) -> None:
            content, kind = site.content(urlsplit(self.path).path) or (b"", "")
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", KINDS.get(kind, "text/plain"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: a tab that was killed hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    site.origin = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
