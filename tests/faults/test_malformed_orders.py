"""R6 at the server: requests of every kind get an answer that is described, and refusals change nothing."""

import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, CAMPAIGN, ORDER, SIZES, HostedServer, wanted, wanted_campaign

from treetop.errors import PeerViolation
from treetop.services.server.app import description, server_app

SCHEMA = schemathesis.openapi.from_dict(json.loads(json.dumps(description())))
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)}
DESCRIBED = [status_code_conformance, content_type_conformance, response_schema_conformance]
QUICK, LONG = 40, 1_200


class Strange:
    """A party that breaks the protocol at once: every query that is taken ends soon."""

    def close(self) -> None:
        pass

    def install(self, _document: bytes) -> None:
        raise PeerViolation("task", "one of ours", "another")


@pytest.fixture(scope="module")
def described() -> Iterator[tuple[HostedServer, int, str]]:
    made = HostedServer()
    task = made.queries.take(wanted()).task
    made.campaigns.take(wanted_campaign())
    limit = time.monotonic() + 60
    while made.queries.state(task).state == "running" and time.monotonic() < limit:
        time.sleep(0.02)
    hostile = HostedServer(dict.fromkeys(SIZES, Strange()), made.journal)
    hostile.campaigns.resume()
    with served(server_app(hostile.context)) as port:
        yield hostile, port, task


def orders(hosted: HostedServer) -> int:
    return len(hosted.journal.read("orders")) + len(hosted.journal.read("campaigns"))


def conforms(described: tuple[HostedServer, int, str], label: str, examples: int) -> None:
    hosted, port, task = described
    allowed, forbidden = (OPERATIONS[label].as_strategy(generation_mode=mode) for mode in GenerationMode)
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

    @settings(
        max_examples=examples, derandomize=examples == QUICK, deadline=None, suppress_health_check=checks,
        phases=[Phase.generate],
    )  # fmt: skip
    @given(allowed | forbidden, st.booleans(), st.sampled_from([ADMIN_KEY, ADMIN_KEY, "nobody"]))
    def holds(case: Case[Any], known: bool, key: str) -> None:
        before = orders(hosted)
        if known and case.path_parameters:
            campaign = next(iter(hosted.journal.read("campaigns")))
            for name in case.path_parameters:
                case.path_parameters[name] = campaign if "campaigns" in label else task
        headers = {"Authorization": f"Bearer {key}"}
        answer = case.call(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60)
        assert answer.status_code < 500, (case, answer.content)
        assert answer.status_code == 201 or orders(hosted) == before, (case, answer.content)
        if answer.status_code != 405:  # what the other methods answer is not described
            case.validate_response(answer, checks=DESCRIBED)

    holds()
    assert "internal_error" not in hosted.log.getvalue()
    assert "query_paused" not in hosted.log.getvalue()
    hosted.campaigns.advance()


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_is_as_its_description_says(described: tuple[HostedServer, int, str], label: str) -> None:
    conforms(described, label, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_is_as_its_description_says_in_ten_thousand_cases(
    described: tuple[HostedServer, int, str], label: str
) -> None:
    conforms(described, label, LONG)


MEMBERS: list[tuple[str, Any]] = [
    ("k", 1 << 20), ("k", 2.5), ("k", None), ("epsilon", "1e9"), ("epsilon", "nan"), ("epsilon", "0"),
    ("epsilon", "-1"), ("epsilon", "9" * 24), ("epsilon", "0." + "0" * 20 + "1"), ("mechanism", "taps\0"),
    ("encoding", ""),
    ("settings", {"bits": "0"}), ("settings", {"bits": "257"}), ("settings", {"bits": "1e3"}), ("settings", {"": ""}),
    ("settings", {"step_bits": "99"}), ("settings", {"levels": "0"}), ("settings", {"beta": "nan"}),
    ("parties", ["north", "north"]), ("parties", [""]), ("expected", {"north": -1}), ("expected", {"north": 1 << 70}),
    ("expected", {"nobody": 5}), ("deadlines", {"opens": -1}), ("deadlines", {"reports": 1 << 63}),
    ("deadlines", {"level_seconds": 0}), ("least", {"estimate": 0}), ("patience", 0), ("policy", "WAIT"),
    ("name", "\ud800"), ("name", "\0"), ("name", "x" * 201), ("attribute", ""), ("oracle", "olh "), ("mode", 1),
]  # fmt: skip


OF_CAMPAIGNS: list[tuple[str, Any]] = [
    ("starts", None), ("starts", -1), ("starts", 1 << 53), ("starts", "now"), ("every", 0), ("every", 1 << 60),
    ("weeks", 1), ("weeks", 1025), ("weeks", 2.5), ("cycles", 0), ("cycles", 1 << 40), ("mode", "rounds"),
    ("name", "x" * 200), ("name", "a/b"), ("name", "\0"), ("attribute", "\ud800"), ("deadlines", {"opens": 0}),
    ("epsilon", "9" * 24), ("catalogue", "0" * 64), ("settings", {"x" * 201: "1"}), ("settings", {"bits": "9" * 201}),
    ("mechanism", "x" * 201), ("parties", ["y" * 201]), ("expected", {"north": 1 << 70}), ("week", 3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "member", "value"),
    [
        *(("/v1/queries", ORDER, *each) for each in MEMBERS),
        *(("/v1/campaigns", CAMPAIGN, *each) for each in [*MEMBERS, *OF_CAMPAIGNS]),
    ],
)
def test_one_wrong_member_is_refused_or_taken_whole(
    described: tuple[HostedServer, int, str], path: str, body: dict[str, Any], member: str, value: Any
) -> None:
    hosted, port, _ = described
    before = orders(hosted)
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {ADMIN_KEY}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps({**body, member: value}), headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert answer.status in {201, 400, 422}, told
    assert answer.status == 201 or orders(hosted) == before, told
    assert "internal_error" not in hosted.log.getvalue()
