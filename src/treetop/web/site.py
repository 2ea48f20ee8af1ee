"""What all pages share: templates, static files, headers, visitors, and the page of a refusal.

A `Site` is mounted at /page beside the endpoints of a service, or alone. Its handlers are plain functions from a
`Visit` to a response; they run in threads, so they may read stores. Nothing on a page comes from another host.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Protocol
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from treetop.adapters.http.browser_rules import HEADERS as ALWAYS
from treetop.adapters.http.browser_rules import OWN_PAGES, WithHeaders, encoded_headers
from treetop.adapters.http.problem_details import Problem
from treetop.adapters.http.request_guard import check_length
from treetop.public_text import visible

PREFIX = OWN_PAGES
STATIC_TYPES = {"css": "text/css", "js": "text/javascript", "txt": "text/plain", "svg": "image/svg+xml"}
TOKEN_FIELD = "form_token"  # noqa: S105  a name, no secret
TOKEN_HEADER = "x-form-token"  # noqa: S105  a name, no secret
MAX_FIELDS = 200
STRANGERS_FORM_BYTES = 16 << 10
"""The longest form of a visitor who has not logged in, which holds a key and no more."""
# Nothing inline and nothing from another host: a script that gets into a page through a name does not run (T24).
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    **ALWAYS,
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer below /page; a handler may change caching only."""
_PAIRS = encoded_headers(HEADERS)


@dataclass(frozen=True, repr=False)
class Visitor:
    """A person at a page: the token that every form of hers must send back, and the role of her key."""

    form_token: str
    role: str
    """A caller of the API (admin, back_end …); shown to the visitor."""


class Entrance(Protocol):
    """Recognises visitors: by a session, or by the key in the address of a simulator."""

    def visitor(self, request: Request) -> Visitor | None:
        """Return the visitor who sends a request, None for a stranger, or raise a `Problem`."""
        ...


@dataclass(frozen=True)
class Link:
    """A page that all pages link to."""

    path: str
    """Below /page."""
    text: str


@dataclass(frozen=True, repr=False)
class Visit:
    """One request of a person: the request, its visitor and its body."""

    request: Request
    visitor: Visitor | None
    body: bytes

    @property
    def form(self) -> Mapping[str, Sequence[str]]:
        """Return the fields of a form; of a GET, those of its address."""
        if self.request.method == "GET":
            query = self.request.query_params
            return {name: query.getlist(name) for name in query}
        try:
            text = self.body.decode("utf-8", errors="replace")
            return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:
            raise Problem(400, f"a form has {MAX_FIELDS} fields at most") from None

    def field(self, name: str, default: str = "") -> str:
        """Return one field of a form."""
        return (self.form.get(name) or [default])[0]

    @property
    def service_url(self) -> str:
        """Return the address under which the visitor reaches the service."""
        return f"{self.request.url.scheme}://{self.request.headers.get('host', '')}"

    @property
    def part_only(self) -> bool:
        """Return whether htmx asks for a part of a page."""
        return _wants_part(self.request)


def _wants_part(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


Handler = Callable[[Visit], Response]


class Site:
    """All pages of one service."""

    def __init__(
        self, title: str, links: Sequence[Link], entrance: Entrance, refusal: Callable[[Exception], Problem]
    ) -> None:
        """`refusal` turns an exception into what a visitor may know of it, and logs unexpected ones."""
        self._title = title
        self._links = links
        self._entrance = entrance
        self._refusal = refusal
        self._static = _static_files()
        self._routes: list[BaseRoute] = [Route("/static/{name}", self._file, methods=["GET"])]
        self._templates = Environment(
            loader=PackageLoader("treetop.web"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
            # Names come from parties and analysts: characters that nobody can see are shown as escapes everywhere.
            finalize=lambda value: visible(value) if type(value) is str else value,
        )
        self._templates.globals |= {"address": address, "static": self.static, "site": title, "links": links}
        self._templates.globals["state_badge"] = self._templates.get_template("state.html.jinja").module.state_badge  # type: ignore[attr-defined]
        self._templates.filters |= {"count": lambda number: f"{number:,}"}

    def add(self, method: str, path: str, handler: Handler, *, for_everybody: bool = False) -> None:
        """Add a page below /page; strangers are sent to the login unless it is for everybody."""

        async def answer(request: Request) -> Response:
            request.scope["route"] = SimpleNamespace(path=address(path))  # what the metrics call it
            try:
                visitor = self._entrance.visitor(request)
                # Before the body is read: a page of another site costs nothing but the head of its request.
                if method != "GET":
                    check_origin(request)
                if visitor is None and not for_everybody:
                    return _to_login(request)
                visit = Visit(request, visitor, await _form_of(request, known=visitor is not None))
                if method != "GET" and visitor is not None:
                    _check_token(visit, visitor.form_token)
                return await run_in_threadpool(handler, visit)
            except Exception as error:
                return self._refused(request, error)

        self._routes.append(Route(path, answer, methods=[method]))

    def knows(self, request: Request) -> bool:
        """Return whether the visitor of a request is still logged in."""
        return self._entrance.visitor(request) is not None

    def shown(self, visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page, or the part of a page, that a template renders."""
        path = visit.request.url.path.removeprefix(PREFIX)
        text = self._templates.get_template(template).render(visitor=visit.visitor, path=path, **values)
        return Response(text, status, media_type="text/html")

    def rendered(self, template: str, **values: Any) -> str:
        """Return a part of a page, for events."""
        return self._templates.get_template(template).render(**values)

    def static(self, name: str) -> str:
        """Return the address of a file, which changes with its content."""
        return f"{PREFIX}/static/{name}?v={self._static[name][1][:12]}"

    def routes(self) -> list[BaseRoute]:
        """Return the routes to include in an application: all pages below /page, and a redirect from /."""
        router = Router([*self._routes, Route("/{path:path}", self._nothing)], redirect_slashes=False)

        def home(_: Request) -> Response:
            return RedirectResponse(address("/"), 303, HEADERS)

        redirects = [Route(path, home, methods=["GET"]) for path in ("/", PREFIX)]
        return [*redirects, Mount(PREFIX, app=PageHeaders(router))]

    async def _file(self, request: Request) -> Response:
        """Return a file of the page; it may be kept, since another content has another address."""
        found = self._static.get(request.path_params["name"])
        if found is None:
            return self._refused(request, Problem(404, "there is no such file"))
        content, tag, kind = found
        return Response(
            content, headers={"cache-control": "max-age=31536000, immutable", "etag": f'"{tag}"'}, media_type=kind
        )

    async def _nothing(self, request: Request) -> Response:
        return self._refused(request, HTTPException(404, "there is no such page"))

    def _refused(self, request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            error = Problem(error.status_code, str(error.detail), error.headers or {})
        problem = error if isinstance(error, Problem) else self._refusal(error)
        try:
            visitor = self._entrance.visitor(request)
        except Problem:
            visitor = None
        shown = self.shown(Visit(request, visitor, b""), "refusal.html.jinja", problem.status, problem=problem)
        shown.headers.update(problem.headers)
        return shown


def address(path: str) -> str:
    """Return the address of a page from its path below /page."""
    return PREFIX + path


async def _form_of(request: Request, *, known: bool) -> bytes:
    """Return the body of a form; refuse a stranger's that is longer than a login needs."""
    if known:
        return await request.body()
    body = b""
    async for part in request.stream():
        body += part
        check_length(len(body), STRANGERS_FORM_BYTES)
    return body


def _to_login(request: Request) -> Response:
    """Send a stranger to the login; a part of a page cannot go there, so htmx loads the whole of it."""
    if _wants_part(request):
        return Response(status_code=401, headers={"HX-Redirect": address("/login")})
    return RedirectResponse(address("/login"), 303)


def _check_token(visit: Visit, expected: str) -> None:
    """Refuse a request that no form of this visitor's pages sent (cross-site request forgery, T24)."""
    shown = visit.request.headers.get(TOKEN_HEADER) or visit.field(TOKEN_FIELD)
    # In constant time: the time of a plain comparison would reveal the token byte by byte.
    if not compare_digest(shown.encode(), expected.encode()):
        raise Problem(403, "this form is from another session: load the page again and send it once more")


def check_origin(request: Request) -> None:
    """Refuse a request from another site's page, by the headers in which browsers name a page's origin."""
    fetched = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    # Browsers too old to send Sec-Fetch-Site send Origin with a POST; programs without a browser send neither.
    foreign = fetched not in (None, "same-origin")
    if origin is not None:
        foreign |= origin.partition("://")[2] != request.headers.get("host", "")
    if foreign:
        raise Problem(403, "this was sent by a page of another site")


class PageHeaders:
    """Adds the headers of a page to every answer."""

    def __init__(self, routes: ASGIApp) -> None:
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._routes(scope, receive, WithHeaders(send, _PAIRS))


def _static_files() -> dict[str, tuple[bytes, str, str]]:
    """Return content, digest and media type of all static files, which are few and small enough for memory."""
    found = {}
    for file in files("treetop.web").joinpath("static").iterdir():
        content = file.read_bytes()
        found[file.name] = content, sha256(content).hexdigest(), STATIC_TYPES[file.name.rpartition(".")[2]]
    return found
