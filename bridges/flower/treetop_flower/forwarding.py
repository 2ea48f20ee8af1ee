"""Run at the party: makes the one call that a message asks for at the party's own service, on the same machine."""

import json
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from treetop_flower.wire import MAX_REPLY_BYTES, Answer, Call

ANSWER_SECONDS = 30.0
NO_SERVICE = 502


def forwarded(call: Call, service: str) -> Answer:
    """Return what the party's service says; where it does not answer, that is the answer."""
    parts = urlsplit(service)
    headers = {"Authorization": call.key} if call.key else {}
    if call.method == "PUT":
        headers["Content-Type"] = "application/json"
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    try:
        path = parts.path.rstrip("/") + call.path
        connection.request(call.method, path, call.body if call.method == "PUT" else None, headers)
        reply = connection.getresponse()
        body = reply.read(MAX_REPLY_BYTES + 1)
        if reply.length:  # http.client itself takes a short body for a whole one
            return _nothing("its answer was cut off")
        return Answer(reply.status, body) if 200 <= reply.status <= 599 else _nothing(f"status {reply.status}")
    except (OSError, HTTPException) as error:
        return _nothing(type(error).__name__)
    finally:
        connection.close()


def _nothing(why: str) -> Answer:
    problem = {"title": "Bad Gateway", "status": NO_SERVICE, "detail": f"the party's service does not answer: {why}"}
    return Answer(NO_SERVICE, json.dumps(problem).encode())
