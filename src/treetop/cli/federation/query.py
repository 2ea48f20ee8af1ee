"""`treetop query`: ask a running server, and follow the answer."""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from treetop.answers.answer import Answer
from treetop.cli.federation.asking import QUESTION, CaFile, KeyFile, ServerUrl, asked_question, client_of
from treetop.cli.federation.hexadecimal import digest_of_task
from treetop.cli.options import completing, gathers, seconds_of
from treetop.cli.output import FORMATS, PLAIN_FORMATS, OutputFile, checked_target, deliver
from treetop.cli.rendering import present
from treetop.cli.screen import Json, note, out, waiting
from treetop.errors import QueryFailed
from treetop.federation.wire.uploads import Refusal
from treetop.mechanisms.deployment import MODES
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


@gathers("question", QUESTION)
def query(
    *,
    server: ServerUrl,
    key_file: KeyFile,
    task: TaskDigest = None,
    question: dict[str, Any],
    mode: Mode = "one-shot",
    collect: Collect = "24h",
    enrol: Enrol = None,
    level_time: LevelTime = "1h",
    ca: CaFile = None,
    wait: Wait = True,
    output: OutputFile = None,
    json: Json = False,
) -> None:
    """Ask a running server for the k most popular items of its federation."""
    target = checked_target(output, FORMATS if wait else PLAIN_FORMATS)
    if task is not None:
        digest_of_task(task)
    client = client_of(server, key_file, ca)
    if task is None:
        now = int(time.time())
        span = seconds_of("--collect", collect)
        enrolled = now + (seconds_of("--enrol", enrol) if enrol else span)
        order = asked_question(client, question) | {
            "mode": mode,
            "deadlines": {
                "opens": now,
                "enrolment": enrolled if mode == "rounds" else now + span,
                "reports": (enrolled if mode == "rounds" else now) + span,
                "level_seconds": seconds_of("--level-time", level_time),
            },
        }
        for line in spent_budgets(client):
            note(line)
        task = client.order(order)
        note(f"task {task}")
    if not wait:
        asked = following(server, key_file, ca, task)
        state = client.state(task)
        deliver(state, lambda: out.print(f"asked: {asked}", soft_wrap=True), json_only=json, output=target)
        return
    present(Answer.from_json(followed(client, task)), json, target)


def following(server: str, key_file: Path, ca: Path | None, task: str) -> str:
    """Return the command that waits for the answer of a query, with all that it needs to be let in."""
    trusted = [] if ca is None else ["--ca", str(ca)]
    return shlex.join(["treetop", "query", "--server", server, "--key-file", str(key_file), *trusted, "--task", task])


def spent_budgets(client: ServerClient) -> Iterator[str]:
    """Yield, before anything is asked, how many devices of which party had no budget left the last time."""
    for party in client.parties():
        for code in Refusal:
            if code is not Refusal.NOT_MY_WEEK and (count := party["refusals"].get(code)):
                yield f"party {party['name']!r}, the last time: {code.note(count).text}"


def followed(client: ServerClient, task: str) -> dict[str, Any]:
    """Wait for an answer, and show on the way how far it is."""
    with waiting("waiting") as say:
        while True:
            result = client.result(task)
            if result is not None:
                return result
            state = client.state(task)
            if state["state"] == "failed":
                raise QueryFailed("query_without_answer", doing=state["doing"])
            say(f"{state['state']}: {state['doing']}")
            time.sleep(POLL_SECONDS)
