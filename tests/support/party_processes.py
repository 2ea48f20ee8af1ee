"""A real `treetop party` in a process of its own, to be loaded and killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

from tests.support.parties import BACK_END_KEY, NAME, SECRET, SERVER_KEY, SIGNING, document, task

from treetop.federation.task import Deadlines, DeviceTask

START_SECONDS = 60
_SETTINGS = """
name = "{name}"
listen = "127.0.0.1:0"
{store}
reports = "reports"
server_signing_keys = ["{pinned}"]
ticket_secret_file = "ticket.secret"
least_reports = 1
{more}
[[server_access]]
key_file = "server.key"
[[back_end_access]]
key_file = "back_end.key"
"""


def current_task(oracle: str = "olh", name: str = "fruit") -> DeviceTask:
    """A task that is open now."""
    now = int(time.time())
    return replace(task(oracle, name), deadlines=Deadlines(now - 1000, now + 5000, now + 50_000, 60))


class PartyProcess:
    """Started, killed and started again over the same folder."""

    def __init__(self, folder: Path, more: str = "", store: str = 'store = "party.db"', role: str = "") -> None:
        self.folder, self.settings = folder, folder / "party.toml"
        self._role = ["--role", role] if role else []
        folder.mkdir(exist_ok=True)
        (folder / "ticket.secret").write_bytes(SECRET)
        (folder / "server.key").write_text(SERVER_KEY)
        (folder / "back_end.key").write_text(BACK_END_KEY)
        self.settings.write_text(_SETTINGS.format(name=NAME, pinned=SIGNING.public, more=more, store=store))
        self.lines: list[str] = []
        self.port = 0

    def start(self) -> float:
        """Return after how many seconds it listens."""
        begin = time.monotonic()
        command = [sys.executable, "-m", "treetop", "party", "--settings", str(self.settings), *self._role]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        listening = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(listening,), daemon=True)
        self._reader.start()
        assert listening.wait(START_SECONDS), self.lines
        assert self.port, self.lines
        assert self.ask("GET", "/v1/health")[0] == 200
        return time.monotonic() - begin

    def _read(self, listening: threading.Event) -> None:
        assert self._process.stderr is not None
        self.port = 0
        for line in self._process.stderr:
            self.lines.append(line)
            if '"listening"' in line:
                self.port = json.loads(line)["port"]
                listening.set()
        listening.set()

    def ask(self, method: str, path: str, body: bytes | None = None, key: str = "") -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} if key else {}
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def install(self, of: DeviceTask, tickets: int) -> list[str]:
        """Give it a task and return tickets."""
        path = f"/v1/tasks/{of.digest.hex()}"
        assert self.ask("PUT", path, document(of), SERVER_KEY)[0] == 204
        texts: list[str] = []
        while len(texts) < tickets:
            wish = json.dumps({"count": min(50_000, tickets - len(texts))}).encode()
            status, answer = self.ask("POST", path + "/tickets", wish, BACK_END_KEY)
            assert status == 200, answer
            texts += json.loads(answer)["tickets"]
        return texts

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """The power goes."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to end, and return how it did."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        self.signal(number)
        code = self._process.wait(180)
        self._reader.join(60)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code

    @property
    def memory(self) -> int:
        """Return the bytes that it holds at the moment."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
