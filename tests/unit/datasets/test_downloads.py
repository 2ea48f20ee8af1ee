"""A real server on this machine that drops the connection, knows ranges or does not."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from tests.support.refusals import refused

from treetop.datasets.build import Builder, Corpus, Recipe, RecipeParty
from treetop.datasets.corpora import fetch, file_name
from treetop.errors import InvalidInput

CONTENT = b"one word\n" * 300_000
DIGEST = sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    drop_after: ClassVar[int | None] = None
    knows_ranges: ClassVar[bool] = True
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted[6:-1]) if wanted and self.knows_ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if Handler.drop_after is None else body[: Handler.drop_after])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serving(drop_after: int | None = None, knows_ranges: bool = True) -> Iterator[str]:
    Handler.drop_after, Handler.knows_ranges, Handler.asked = drop_after, knows_ranges, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/corpus.txt"
        finally:
            server.shutdown()
            thread.join()


def test_a_dropped_download_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with serving(drop_after=1_000_000) as url:
        with refused("download_stopped", InvalidInput, reason="1,000,000 of 2,700,000 bytes arrived"):
            fetch(url, tmp_path, DIGEST)
        have = (tmp_path / "corpus.txt.partial").stat().st_size
        assert 0 < have <= 1_000_000
        Handler.drop_after = None
        heard: list[tuple[int, int | None]] = []
        path = fetch(url, tmp_path, DIGEST, lambda done, total: heard.append((done, total)))
        assert Handler.asked == [None, f"bytes={have}-"]
        assert heard[-1] == (len(CONTENT), len(CONTENT))
        assert path.read_bytes() == CONTENT
        assert fetch(url, tmp_path, DIGEST) == path
        assert len(Handler.asked) == 2


def test_a_server_without_ranges_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt.partial").write_bytes(b"something else")
    with serving(knows_ranges=False) as url:
        assert fetch(url, tmp_path, DIGEST).read_bytes() == CONTENT


def test_a_part_that_is_already_whole_is_kept(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt.partial").write_bytes(CONTENT)
    with serving() as url:
        assert fetch(url, tmp_path, DIGEST).read_bytes() == CONTENT


def a_link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def a_second_name(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def a_pipe(path: Path, _victim: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("plant", [a_link, a_second_name, a_pipe])
def test_a_part_that_somebody_planted_is_not_written(tmp_path: Path, plant: Callable[[Path, Path], None]) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    plant(tmp_path / "corpus.txt.partial", victim)
    with serving() as url, pytest.raises(InvalidInput):
        fetch(url, tmp_path, DIGEST)
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "corpus.txt").exists()


def test_another_file_is_refused(tmp_path: Path) -> None:
    with serving() as url, refused("download_checksum", InvalidInput):
        fetch(url, tmp_path, "0" * 64)
    assert not (tmp_path / "corpus.txt").exists()


def test_a_server_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with serving() as url:
        pass
    with refused("download_stopped", InvalidInput):
        fetch(url, tmp_path)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://a/b", "http://a", "http://a/..", "nonsense"])
def test_only_files_on_the_web_are_fetched(url: str) -> None:
    with refused("download_address", InvalidInput):
        file_name(url)


def test_a_recipe_fetches_its_corpus(tmp_path: Path) -> None:
    with serving() as url:
        recipe = Recipe("x", "text", parties=(RecipeParty("a", Corpus(url=url, sha256=DIGEST), users=1000),))
        builder = Builder(recipe, tmp_path, tmp_path / "downloads")
        assert builder.build()["a"].total() == 1000
        assert list(builder.checksums.values()) == [DIGEST]
