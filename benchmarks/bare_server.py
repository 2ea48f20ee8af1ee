"""A bare loop of the party's own server: uvicorn as it comes, answering every upload at once and keeping nothing.

What a machine lets a party do in a second depends on what else it does at the time. The CPU time that a party takes for
a request, divided by what a bare loop takes for the same one in the same run, does not.
`python -m benchmarks.bare_server [FOLDER]`: FOLDER has certificate.pem and key.pem if it is to speak TLS.
"""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Self

import uvicorn
from starlette.types import Receive, Scope, Send

ANSWER = b'{"verdicts":["accepted"]}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ANSWER))]


async def taking_anything(_scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body and answer."""
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


class BareServer:
    """The loop in a process of its own."""

    def __init__(self, certificates: Path | None = None) -> None:
        self._arguments = [] if certificates is None else [str(certificates)]

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "benchmarks.bare_server", *self._arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own
        assert self._process.stdout is not None
        self.pid, self.port = self._process.pid, int(self._process.stdout.readline())
        return self

    def __exit__(self, *_failure: object) -> None:
        self._process.terminate()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def main(certificates: Path | None) -> None:
    config = uvicorn.Config(
        taking_anything, http="httptools", loop="uvloop", ws="none", lifespan="off", log_config=None, access_log=False,
        timeout_graceful_shutdown=1, ssl_certfile=certificates and certificates / "certificate.pem",
        ssl_keyfile=certificates and certificates / "key.pem",
    )  # fmt: skip
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
