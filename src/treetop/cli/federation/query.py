"""`treetop query`: ask a running server, and follow the answer."""

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from treetop.cli.federation.asking import (
    Attribute,
    CaFile,
    EncodingOption,
    EpsilonText,
    Expected,
    KeyFile,
    Least,
    LeastValidation,
    MaxTimes,
    Name,
    OracleOption,
    Parties,
    Patience,
    Policy,
    ServerUrl,
    asked_question,
    client_of,
)
from treetop.cli.options import (
    CatalogueFile,
    CentralEpsilon,
    Delta,
    ItemsAtMost,
    Json,
    K,
    MaybeMechanism,
    Normalise,
    Reading,
    Set,
    Strategy,
    TextRecovery,
    Trust,
    WordList,
    WordListOrder,
    completing,
    seconds_of,
)
from treetop.cli.rendering import present
from treetop.cli.screen import note, out, print_json, waiting
from treetop.cli.shared.output import OutputFile, checked_target
from treetop.errors import PeerViolation, QueryFailed
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED
from treetop.federation.wire.refusals import Refusal
from treetop.mechanisms.protocol import MODES
from treetop.query.answer import Answer
from treetop.services.server.client import ServerClient

POLL_SECONDS = 1.0

TaskDigest = Annotated[
    str | None, typer.Option("--task", help="Follow a query that was asked before.", show_default=False)
]
Mode = Annotated[
    str, typer.Option("--mode", help=f"How devices are asked: {', '.join(MODES)}.", autocompletion=completing(MODES))
]
Collect = Annotated[
    str, typer.Option("--collect", metavar="DURATION", help="How long devices may report; in rounds, after enrolment.")
]
Enrol = Annotated[
    str | None,
    typer.Option("--enrol", metavar="DURATION", help="Rounds: how long devices may enrol.", show_default="--collect"),
]
LevelTime = Annotated[str, typer.Option("--level-time", metavar="DURATION", help="Rounds: how long a list stays open.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the answer, or leave once it is asked.")]


def query(
    server: ServerUrl,
    key_file: KeyFile,
    task: TaskDigest = None,
    name: Name = "query",
    attribute: Attribute = "item",
    k: K = 10,
    epsilon: EpsilonText = None,
    mechanism: MaybeMechanism = None,
    mode: Mode = "one-shot",
    oracle: OracleOption = "auto",
    encoding: EncodingOption = None,
    strategy: Strategy = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    word_list_order: WordListOrder = None,
    text_recovery: TextRecovery = None,
    normalise: Normalise = None,
    trust: Trust = None,
    central_epsilon: CentralEpsilon = None,
    delta: Delta = None,
    items_per_user: ItemsAtMost = None,
    reading: Reading = None,
    settings: Set = None,
    parties: Parties = None,
    expected: Expected = None,
    max_times_expected: MaxTimes = MAX_TIMES_EXPECTED,
    collect: Collect = "24h",
    enrol: Enrol = None,
    level_time: LevelTime = "1h",
    policy: Policy = "wait",
    patience: Patience = "1h",
    min_reports: Least = 500,
    min_validation: LeastValidation = 100,
    ca: CaFile = None,
    wait: Wait = True,
    output: OutputFile = None,
    json: Json = False,
) -> None:
    """Ask a running server for the k most popular items of its federation."""
    options, target = dict(locals()), checked_target(output)
    client = client_of(server, key_file, ca)
    if task is None:
        now, span = int(time.time()), seconds_of("--collect", collect)
        enrolled = now + (seconds_of("--enrol", enrol) if enrol else span)
        order = asked_question(client, options) | {
            "mode": mode,
            "deadlines": {
                "opens": now, "enrolment": enrolled if mode == "rounds" else now + span,
                "reports": (enrolled if mode == "rounds" else now) + span,
                "level_seconds": seconds_of("--level-time", level_time),
            },
        }  # fmt: skip
        for line in spent_budgets(client):
            note(line)
        task = client.order(order)
        note(f"task {task}")
    if not wait:
        asked = f"asked: treetop query --server {server} --task {task}"
        print_json(client.state(task)) if json else out.print(asked, soft_wrap=True)
        return
    present(Answer.from_json(followed(client, task)), json, target)


def spent_budgets(client: ServerClient) -> Iterator[str]:
    """Yield, before anything is asked, how many devices of which party had no budget left the last time."""
    try:
        parties = client.parties()
    except PeerViolation:  # a server of an earlier version cannot say
        return
    for party in parties:
        for code in Refusal:
            if code is not Refusal.NOT_MY_WEEK and (count := party["refusals"].get(code)):
                yield f"party {party['name']!r}, the last time: {code.devices(count)}"


def followed(client: ServerClient, task: str) -> dict[str, Any]:
    """Wait for an answer, and show on the way how far it is."""
    with waiting("waiting") as say:
        while True:
            result = client.result(task)
            if result is not None:
                return result
            state = client.state(task)
            if state["state"] == "failed":
                raise QueryFailed(f"the query ended without an answer: {state['doing']}")
            say(f"{state['state']}: {state['doing']}")
            time.sleep(POLL_SECONDS)
