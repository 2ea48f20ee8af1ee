"""Login by access key: a session in a cookie that scripts cannot read and other sites cannot send.

Sessions are in the memory of one process, so everybody logs in again after a restart. A session is worth no more than
its key: the key's digest is looked up with every request, so a key that ends or is taken out of the settings ends its
sessions. Neither key nor cookie is kept, only their digests. The attacks that this stops are T24 of the threat model.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from secrets import token_urlsafe
from threading import Lock

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from treetop.adapters.http.endpoint_settings import AccessKeys, Caller
from treetop.adapters.http.problem_details import come_back
from treetop.web.site import PREFIX, Site, Visit, Visitor, address

TOKEN_BYTES = 32
LIFE_SECONDS = 8 * 3600.0
MAX_SESSIONS = 1000
"""Open at the same time; the oldest one ends for the next."""
MAX_FAILURES = 10
"""Wrong keys from one address within FAILURE_SECONDS; then it must wait, even with the right key."""
FAILURE_SECONDS = 60.0
MAX_ADDRESSES = 10_000
"""Whose failures are remembered: memory stays bounded if an attacker has many addresses."""
LONGEST_KEY = 4096
"""Characters of a key that are read."""


@dataclass(frozen=True, repr=False)
class _Session:
    key: bytes
    """SHA-256."""
    until: float
    visitor: Visitor


class Sessions:
    """The entrance of a service's pages, for holders of a key of one kind."""

    def __init__(
        self, name: str, keys: AccessKeys, caller: Caller, *, secure: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`name` tells cookies of one machine's services apart: browsers send them to all its ports."""
        self._keys = keys
        self._caller = caller
        self._secure = secure
        self._clock = clock
        self._cookie = f"treetop_{sha256(name.encode()).hexdigest()[:8]}"
        self._sessions: dict[bytes, _Session] = {}
        self._failures: dict[str, deque[float]] = {}
        self._lock = Lock()

    def visitor(self, request: Request) -> Visitor | None:
        """Return the visitor of a cookie, as long as its session and its key are valid."""
        shown = request.cookies.get(self._cookie)
        if not shown:
            return None
        # Looked up by its digest: the time of a dictionary's comparison reveals nothing about the cookie itself.
        token = sha256(shown.encode()).digest()
        session = self._sessions.get(token)
        if session is None:
            return None
        if self._clock() >= session.until or self._caller not in self._keys.callers(session.key):
            with self._lock:
                self._sessions.pop(token, None)
            return None
        return session.visitor

    def add_to(self, site: Site) -> None:
        """Add login and logout."""
        site.add("GET", "/login", lambda visit: self._form(site, visit), for_everybody=True)
        site.add("POST", "/login", lambda visit: self._enter(site, visit), for_everybody=True)
        site.add("POST", "/logout", self._leave)

    def _form(self, site: Site, visit: Visit, problem: str = "", status: int = 200) -> Response:
        if visit.visitor is not None:
            return RedirectResponse(address("/"), 303)
        kind = self._caller.replace("_", " ")
        return site.shown(visit, "login.html.jinja", status, problem=problem, kind=kind)

    def _enter(self, site: Site, visit: Visit) -> Response:
        client = visit.request.client
        source = client.host if client else ""
        now = self._clock()
        self._check_rate(source, now)
        key = visit.field("key")[:LONGEST_KEY].strip().encode()
        if self._caller not in self._keys.callers_with(key):
            self._note_failure(source, now)
            return self._form(site, visit, "This key opens nothing here.", HTTPStatus.FORBIDDEN)
        # A fresh token with every login: a cookie that somebody planted in the browser opens nothing.
        token = token_urlsafe(TOKEN_BYTES)
        session = _Session(sha256(key).digest(), now + LIFE_SECONDS, Visitor(token_urlsafe(TOKEN_BYTES), self._caller))
        with self._lock:
            while len(self._sessions) >= MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[sha256(token.encode()).digest()] = session
        entered = RedirectResponse(address("/"), 303)
        entered.set_cookie(
            self._cookie,
            token,
            max_age=int(LIFE_SECONDS),
            path=PREFIX,
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )
        return entered

    def _leave(self, visit: Visit) -> Response:
        token = visit.request.cookies.get(self._cookie, "")
        with self._lock:
            self._sessions.pop(sha256(token.encode()).digest(), None)
        left = RedirectResponse(address("/login"), 303)
        left.delete_cookie(self._cookie, path=PREFIX, secure=self._secure, httponly=True, samesite="strict")
        return left

    def _check_rate(self, source: str, now: float) -> None:
        """Refuse an address that has sent too many wrong keys lately, so that keys cannot be guessed."""
        with self._lock:
            failures = self._failures.get(source, deque())
            while failures and failures[0] <= now - FAILURE_SECONDS:
                failures.popleft()
            if len(failures) >= MAX_FAILURES:
                raise come_back(429, "too many wrong keys: wait a minute", int(failures[0] + FAILURE_SECONDS - now) + 1)

    def _note_failure(self, source: str, now: float) -> None:
        with self._lock:
            if source not in self._failures and len(self._failures) >= MAX_ADDRESSES:
                del self._failures[next(iter(self._failures))]
            self._failures.setdefault(source, deque(maxlen=MAX_FAILURES)).append(now)
