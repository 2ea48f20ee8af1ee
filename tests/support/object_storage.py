"""A small server that speaks as much of S3 as pyarrow asks: objects, ranges, uploads in parts, lists of keys.

An upload in parts makes an object when it is completed, as S3 does. Requests are kept, so that tests can look at them.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]+)[^\r]*\r\n")


class ObjectStorage(ThreadingHTTPServer):
    """Buckets in memory."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        self.break_uploads = False
        """Whether the last word of every upload is refused."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def object_storage() -> Iterator[ObjectStorage]:
    server = ObjectStorage()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ObjectStorage

    def log_message(self, *_words: object) -> None:
        pass

    def do_PUT(self) -> None:
        body, path, query = self._parts()
        if "partNumber" in query:
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = body
        elif "/" in path:
            if self.server.break_uploads:
                return self._answer(403)
            self.server.objects[path] = body
        return self._answer(200, headers={"ETag": '"etag"'})

    def do_POST(self) -> None:
        _, path, query = self._parts()
        if "uploads" in query:
            upload = f"upload{len(self.server.asked)}"
            self.server.uploads[upload] = {}
            bucket, _, key = path.partition("/")
            return self._xml("InitiateMultipartUploadResult", Bucket=bucket, Key=key, UploadId=upload)
        if self.server.break_uploads:
            return self._answer(403)
        parts = self.server.uploads.pop(query["uploadId"])
        self.server.objects[path] = b"".join(parts[number] for number in sorted(parts))
        return self._xml("CompleteMultipartUploadResult", Key=path, ETag='"etag"')

    def do_DELETE(self) -> None:
        _, path, query = self._parts()
        self.server.uploads.pop(query.get("uploadId", ""), None)
        self.server.objects.pop(path, None)
        self._answer(204)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        _, path, query = self._parts()
        if "/" not in path:
            return self._list(path, query)
        content = self.server.objects.get(path)
        if content is None:
            return self._answer(404)
        wanted = _RANGE.fullmatch(self.headers.get("Range", ""))
        if wanted is None:
            return self._answer(200, content, {"ETag": '"etag"'})
        first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
        told = {"Content-Range": f"bytes {first}-{last}/{len(content)}", "ETag": '"etag"'}
        return self._answer(206, content[first : last + 1], told)

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        if "list-type" not in query:
            return self._answer(200)
        prefix = query.get("prefix", "")
        found = sorted(path for path in self.server.objects if path.startswith(f"{bucket}/{prefix}"))
        contents = "".join(
            f"<Contents><Key>{escape(path.partition('/')[2])}</Key><Size>{len(self.server.objects[path])}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for path in found
            if "/" not in path[len(f"{bucket}/{prefix}") :].strip("/")
        )
        told = f"<IsTruncated>false</IsTruncated><KeyCount>{len(found)}</KeyCount>{contents}"
        text = f"<ListBucketResult>{told}</ListBucketResult>"
        return self._answer(200, text.encode(), {"Content-Type": "application/xml"})

    def _parts(self) -> tuple[bytes, str, dict[str, str]]:
        """Return body, bucket and key, and the query."""
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        self.server.asked.append((self.command, self.path))
        body = self._chunks() if "Transfer-Encoding" in self.headers else b""
        body += self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body = _unchunked(body)
        return body, unquote(address.path).strip("/"), query

    def _chunks(self) -> bytes:
        body = b""
        while length := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _xml(self, name: str, **fields: str) -> None:
        inside = "".join(f"<{field}>{escape(value)}</{field}>" for field, value in fields.items())
        self._answer(200, f"<{name}>{inside}</{name}>".encode(), {"Content-Type": "application/xml"})

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _unchunked(body: bytes) -> bytes:
    """Return what chunks with checksums hold."""
    content, place = b"", 0
    while (head := _CHUNK.match(body, place)) and (length := int(head[1], 16)):
        content += body[head.end() : head.end() + length]
        place = head.end() + length + 2
    return content
