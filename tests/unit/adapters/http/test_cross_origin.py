"""Pages of other origins: those named may do what devices do, all others nothing."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from tests.support.http_answers import Answer, answer_of, is_problem
from tests.support.parties import BACK_END_KEY, Hosted, document, honest_entry, live, task

from treetop.adapters.http.browser_rules import origin_problem
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.party.app import description

SURVEY, OTHER = "https://survey.example", "https://other.example"
ONE_SHOT = task()
PATH = f"/v1/tasks/{ONE_SHOT.digest.hex()}"
FOR_PAGES = [
    ("GET", "/v1/health"), ("GET", "/v1/tasks"), ("GET", PATH), ("GET", f"{PATH}/beacon"), ("GET", f"{PATH}/lists"),
    ("GET", f"{PATH}/lists/1/0"), ("GET", f"{PATH}/items"), ("POST", f"{PATH}/reports"), ("POST", f"{PATH}/enrolments"),
    ("POST", f"{PATH}/ticket-checks"), ("POST", f"{PATH}/refusals"), ("GET", f"/v1/campaigns/{'ab' * 32}"),
]  # fmt: skip
NOT_FOR_PAGES = [
    ("POST", f"{PATH}/tickets"), ("PUT", PATH), ("PUT", f"{PATH}/messages/1"), ("GET", f"{PATH}/messages/1/outcome"),
    ("GET", "/metrics"), ("DELETE", PATH), ("GET", f"{PATH}/reports"), ("POST", PATH), ("GET", "/openapi.json"),
]  # fmt: skip


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return answer_of(connection)
    finally:
        connection.close()


def preflight(port: int, method: str, path: str, origin: str, wants: str = "content-type") -> Answer:
    named = {"Access_Control_Request_Method": method, "Access_Control_Request_Headers": wants}
    return ask(port, "OPTIONS", path, None, Origin=origin, **named)


def granted(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


@pytest.fixture(scope="module", params=[(), (SURVEY, "http://127.0.0.1:8000")], ids=["off", "on"])
def allowed(request: pytest.FixtureRequest) -> tuple[str, ...]:
    origins: tuple[str, ...] = request.param
    return origins


@pytest.fixture(scope="module")
def port(allowed: tuple[str, ...]) -> Iterator[int]:
    hosted = Hosted(allowed_origins=allowed)
    hosted.party.install(document(ONE_SHOT))
    hosted.party.issue(ONE_SHOT.digest, 10)
    with live(hosted.context) as port:
        yield port


@pytest.mark.parametrize(("method", "path"), FOR_PAGES)
def test_pages_of_named_origins_do_what_devices_do(port: int, allowed: tuple[str, ...], method: str, path: str) -> None:
    asked = preflight(port, method, path, SURVEY)
    done = ask(port, method, path, b"x" if method == "POST" else None, Origin=SURVEY)
    if not allowed:
        assert (asked.status, done.status) == (403, 403)
        assert granted(asked) == granted(done) == {}
        return
    assert asked.status == 204
    assert granted(asked) == {
        "access-control-allow-origin": SURVEY, "access-control-allow-methods": method,
        "access-control-allow-headers": "content-type", "access-control-max-age": "600",
        "access-control-expose-headers": "Retry-After",
    }  # fmt: skip
    assert done.status != 403
    assert granted(done)["access-control-allow-origin"] == SURVEY
    assert done.headers["vary"] == "Origin"


@pytest.mark.parametrize(("method", "path"), NOT_FOR_PAGES)
def test_pages_may_do_nothing_that_needs_a_key(port: int, method: str, path: str) -> None:
    for answer in (
        preflight(port, method, path, SURVEY),
        preflight(port, method, path, SURVEY, "authorization"),
        ask(port, method, path, None, Origin=SURVEY, Authorization=f"Bearer {BACK_END_KEY}"),
    ):
        assert is_problem(answer, 403)
        assert granted(answer) == {}


@pytest.mark.parametrize(
    "origin",
    [OTHER, "null", "", "*", "https://survey.example.evil", "https://survey.example:444", "http://survey.example",
     "https://SURVEY.example", "https://survey.example/", f"{SURVEY}, {OTHER}", "https://sürvey.example"],
)  # fmt: skip
def test_pages_of_other_origins_are_refused(port: int, origin: str) -> None:
    for method, path in FOR_PAGES:
        wish = preflight(port, method, path, origin.encode().decode("latin-1"))
        done = ask(port, method, path, b"x" if method == "POST" else None, Origin=origin.encode().decode("latin-1"))
        assert (wish.status, done.status) == (403, 403)
        assert granted(wish) == granted(done) == {}


def test_a_report_of_another_page_is_not_taken_even_without_a_preflight(port: int) -> None:
    upload = encoded_upload([honest_entry(ONE_SHOT, 3)])
    simple = {"Content_Type": "text/plain"}
    assert ask(port, "POST", f"{PATH}/reports", upload, Origin=OTHER, **simple).status == 403
    taken = ask(port, "POST", f"{PATH}/reports", upload)
    assert (taken.status, taken.body) == (200, b'{"verdicts":["accepted"]}')


def test_programs_that_are_no_browser_see_no_difference(port: int) -> None:
    answer = ask(port, "GET", "/v1/tasks")
    assert answer.status == 200
    assert granted(answer) == {}
    assert ask(port, "OPTIONS", "/v1/tasks").status == 405


def test_a_refusal_of_the_party_can_be_read_by_its_pages(port: int, allowed: tuple[str, ...]) -> None:
    answer = ask(port, "GET", f"/v1/tasks/{'0' * 64}", Origin=SURVEY)
    assert answer.status == (404 if allowed else 403)
    assert ("access-control-allow-origin" in answer.headers) == bool(allowed)


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*.example", "survey.example", "https://survey.example/", "https://survey.example/path", "null", "",
     "http://survey.example", "ftp://survey.example", "https://a b", "https://survey.example:port", "https://Survey.example",
     "https://user@survey.example", "file://"],
)  # fmt: skip
def test_origins_are_named_exactly(origin: str) -> None:
    assert (origin_problem(origin) or "").startswith("allowed_origins must")


@pytest.mark.parametrize(
    "origin", [SURVEY, "https://survey.example:8443", "http://127.0.0.1:8000", "http://localhost", "http://[::1]:1"]
)
def test_origins_that_can_be_named(origin: str) -> None:
    assert origin_problem(origin) is None


def test_what_pages_need_is_what_the_description_says_is_for_devices() -> None:
    assert json.dumps(description()).count('"devices"') == len(FOR_PAGES)
