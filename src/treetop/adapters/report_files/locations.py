"""Where report files lie: in a folder, or on object storage (s3://bucket/…), where a file's name tells its content.

Credentials, region and address of the storage come from the environment alone, as AWS's own tools read them
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL).
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from treetop.errors import InvalidInput, ReportFileRefused
from treetop.toml_files import FileValue, Source

SCHEME = "s3://"
PIECE = 1 << 22
"""Bytes that are copied at once."""
_OBJECT = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<key>(?:/[A-Za-z0-9!_.*'()=-]+)*)/?")
_EXPECTED = "expected a folder or s3://bucket/folder, with credentials in the environment alone"


@dataclass(frozen=True)
class StoredObject:
    """One object, or all below a key; what it holds never changes."""

    bucket: str
    key: str

    @property
    def name(self) -> str:
        """Return the last part of the key."""
        return self.key.rpartition("/")[2]

    def __truediv__(self, name: str) -> "StoredObject":
        return StoredObject(self.bucket, f"{self.key}/{name}".lstrip("/"))

    def __str__(self) -> str:
        return f"{SCHEME}{self.bucket}/{self.key}"

    @property
    def path(self) -> str:
        """Return how pyarrow names it."""
        return f"{self.bucket}/{self.key}"

    def opened(self) -> Any:
        """Return the object as a file that is read where it is needed."""
        return storage().open_input_file(self.path)

    def put(self, file: Path) -> None:
        """Make the object of a file's content; it is there when all of it has arrived, and not before."""
        try:
            with file.open("rb") as source, storage().open_output_stream(self.path) as target:
                while piece := source.read(PIECE):
                    target.write(piece)
        except BaseException:
            with suppress(OSError):  # a stream that is left early still makes an object, of what it was given
                storage().delete_file(self.path)
            raise

    def digest(self) -> str:
        """Return the SHA-256 of what was really stored, read back."""
        running = sha256()
        with storage().open_input_stream(self.path) as source:
            while piece := source.read(PIECE):
                running.update(piece)
        return running.hexdigest()

    def below(self, beginning: str) -> Iterator["StoredObject"]:
        """Yield the objects right below this key whose names begin so."""
        from pyarrow import fs  # noqa: PLC0415  settings are read without it

        for found in storage().get_file_info(fs.FileSelector(self.path, allow_not_found=True)):
            if found.type == fs.FileType.File and found.base_name.startswith(beginning):
                yield self / found.base_name


Location = Path | StoredObject


@dataclass(frozen=True)
class ReportFolder(FileValue):
    """Where a party keeps its report files, as its settings say."""

    where: Location

    @classmethod
    def from_file(cls, value: Any, source: Source) -> "ReportFolder":
        """Read a path, which is relative to the settings, or an address."""
        if not isinstance(value, str) or not value:
            raise InvalidInput("report_location_missing", expected=_EXPECTED)
        found = located(value)
        return cls(source.folder / found if isinstance(found, Path) else found)

    def __str__(self) -> str:
        return str(self.where)


def located(text: str) -> Location:
    """Return the path or the object that a text names; what looks like an address and is none is not shown."""
    if "://" not in text:
        return Path(text)
    found = _OBJECT.fullmatch(text)
    if found is None:
        raise InvalidInput("report_location_malformed", expected=_EXPECTED)
    return StoredObject(found["bucket"], found["key"].strip("/"))


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def check_content(stored: StoredObject, digest: str) -> None:
    """Refuse an object that is not what its name says."""
    found = stored.digest()
    if found != digest:
        raise ReportFileRefused(str(stored), f"its content is not what its name says ({found[:8]}…)")


_FILES_OF_CREDENTIALS = "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"
"""Files in which the library would look for keys on its own, unless the environment names others."""


@cache
def storage() -> Any:
    """Return the storage that the environment names, with the credentials that it holds or the machine's role."""
    from pyarrow import fs  # noqa: PLC0415  loaded where there is such a storage

    for file in _FILES_OF_CREDENTIALS:
        os.environ.setdefault(file, os.devnull)  # keys in the home of the user who starts it are not the party's
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = endpoint.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return fs.S3FileSystem(
        region=region,
        endpoint_override=host or None,
        scheme=scheme or "https",
        background_writes=False,
        connect_timeout=10,
        request_timeout=60,
    )
