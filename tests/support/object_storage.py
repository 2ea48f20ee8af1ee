"""Object storage as S3 has it: moto's server in a process of its own, which checks every signature.

It lives in an environment of its own (`make .venv-moto/.moto`, requirements/moto.txt).
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest
from pyarrow import fs

from treetop.adapters.report_files.locations import StoredObject

SERVER = Path(__file__).parents[2] / ".venv-moto" / "bin" / "moto_server"
REGION = "eu-central-1"
_RUNNING = re.compile(r"Running on http://127\.0\.0\.1:(\d+)")
_REQUEST = re.compile(r'"(?:\x1b\[[0-9;]*m)*([A-Z]+ /\S*) HTTP/1\.1')
_POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":%s,"Resource":"*"}]}'
_ANYBODY = "AWS4-HMAC-SHA256 Credential=anybody/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0"


class ObjectStorage:
    """A running server: one user with a key, and what is stored."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self._log = port, log
        self._ask_iam(Action="CreateUser", UserName="north")
        told = self._ask_iam(Action="CreateAccessKey", UserName="north")
        self.key, self.secret = (
            re.findall(f"<{name}>([^<]+)<", told)[0] for name in ("AccessKeyId", "SecretAccessKey")
        )
        self.allow("*")
        self.files = fs.S3FileSystem(
            access_key=self.key, secret_key=self.secret, region=REGION, scheme="http", allow_bucket_creation=True,
            endpoint_override=f"127.0.0.1:{port}",
        )  # fmt: skip

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what a party is started with; nothing else tells it the key."""
        return {
            "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    @property
    def asked(self) -> list[str]:
        """Return method and address of every request so far."""
        return _REQUEST.findall(self._log.read_text())

    def allow(self, *actions: str) -> None:
        """Let the user do these and nothing else."""
        named = "[" + ",".join(f'"s3:{action}"' for action in actions) + "]"
        self._ask_iam(
            Action="PutUserPolicy", UserName="north", PolicyName="allowed", PolicyDocument=_POLICY % named
        )  # fmt: skip

    def contents(self, bucket: str) -> dict[StoredObject, bytes]:
        """Return all objects of a bucket."""
        found = sorted(each.path for each in self.files.get_file_info(fs.FileSelector(bucket, recursive=True))
                       if each.is_file)  # fmt: skip
        return {StoredObject(*path.split("/", 1)): self.files.open_input_file(path).read() for path in found}

    def put(self, stored: StoredObject, content: bytes) -> None:
        with self.files.open_output_stream(stored.path) as target:
            target.write(content)

    def _ask_iam(self, **fields: str) -> str:
        """Ask for something that nobody has to sign, and have everything else signed from there on."""
        _posted(self.port, "/moto-api/reset-auth", "1")
        return _posted(self.port, "/", urlencode({**fields, "Version": "2010-05-08"}))


def _posted(port: int, path: str, body: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    kind = "application/x-www-form-urlencoded" if path == "/" else "text/plain"
    connection.request("POST", path, body, {"Authorization": _ANYBODY, "Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200, text
    return text


@contextmanager
def object_storage(folder: Path) -> Iterator[ObjectStorage]:
    if not SERVER.exists():
        pytest.skip("moto's server is not installed: make .venv-moto/.moto")
    log = folder / "moto.log"
    with log.open("w") as output:
        command = [str(SERVER), "-H", "127.0.0.1", "-p", "0"]
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield ObjectStorage(_port(server, log), log)
    finally:
        server.kill()
        server.wait(180)


def _port(server: "subprocess.Popen[bytes]", log: Path) -> int:
    for _ in range(600):
        if found := _RUNNING.search(log.read_text()):
            return int(found[1])
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"moto's server did not start: {log.read_text()}")
