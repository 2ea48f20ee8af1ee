"""`treetop query`: ask a running server, and follow the answer."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.cli.federation.known_lists import read_lists
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
    read_settings,
    seconds_of,
)
from treetop.cli.output import OutputFile, checked_target
from treetop.cli.rendering import present
from treetop.cli.screen import note, out, print_json, waiting
from treetop.encoding.item_codecs import CODECS
from treetop.errors import InvalidInput, QueryFailed
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED
from treetop.mechanisms.protocol import MODES
from treetop.privacy.shuffling import asked_guarantee
from treetop.query.answer import Answer
from treetop.secret_files import read_secret
from treetop.services.server.client import ServerClient

POLL_SECONDS = 1.0

ServerUrl = Annotated[
    str,
    typer.Option("--server", envvar="TREETOP_SERVER", help="Address of the server, https://…", show_default=False),
]
KeyFile = Annotated[
    Path, typer.Option("--key-file", envvar="TREETOP_KEY_FILE", help="File with an admin key.", show_default=False)
]
CaFile = Annotated[Path | None, typer.Option("--ca", help="Certificates to trust instead of the system's.")]
TaskDigest = Annotated[
    str | None, typer.Option("--task", help="Follow a query that was asked before.", show_default=False)
]
Name = Annotated[str, typer.Option("--name", help="What the query is called; devices show it to people.")]
Attribute = Annotated[
    str, typer.Option("--attribute", help="What is asked about; a device answers about one attribute only.")
]
EpsilonText = Annotated[
    str | None, typer.Option("--epsilon", help="Privacy budget of every user's one report.", show_default="2")
]
Mode = Annotated[str, typer.Option("--mode", help=f"How devices are asked: {', '.join(MODES)}.")]
OracleOption = Annotated[
    str,
    typer.Option(
        "--oracle",
        help="auto: walsh for names, olh for a trie in one-shot mode; k-RR or OUE, the better by d, in rounds.",
    ),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help=f"How items become bits: {', '.join(CODECS)}.",
        show_default="hashed; words, where a trie is searched",
    ),
]
Parties = Annotated[
    str | None, typer.Option("--parties", help="Names separated by commas, the largest first.", show_default="all")
]
Expected = Annotated[
    list[str] | None,
    typer.Option(
        "--expected",
        metavar="NAME=USERS",
        help="How many users a party should have, again for each.",
        show_default="as the server's settings say",
    ),
]
MaxTimes = Annotated[
    int,
    typer.Option(
        "--max-times-expected", min=1, help="Refuse a party that has more than so many times its expected users."
    ),
]
Collect = Annotated[
    str, typer.Option("--collect", metavar="DURATION", help="How long devices may report; in rounds, after enrolment.")
]
Enrol = Annotated[
    str | None,
    typer.Option("--enrol", metavar="DURATION", help="Rounds: how long devices may enrol.", show_default="--collect"),
]
LevelTime = Annotated[str, typer.Option("--level-time", metavar="DURATION", help="Rounds: how long a list stays open.")]
Policy = Annotated[str, typer.Option("--policy", help="A party that does not answer: wait, or proceed without it.")]
Patience = Annotated[str, typer.Option("--patience", metavar="DURATION", help="How long a party may stay silent.")]
Least = Annotated[int, typer.Option("--least-reports", help="Groups with fewer reports are not used.")]
LeastValidation = Annotated[int, typer.Option("--least-validation", help="The same for validation sets (TAPS).")]
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
    target = checked_target(output)
    try:
        key = read_secret(key_file).decode("ascii").strip()
    except OSError as reason:
        raise InvalidInput(f"--key-file {key_file} cannot be read: {reason.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"--key-file {key_file}: expected a key in ASCII, found something else") from None
    client = ServerClient(RetryingConnection(server, ca), key)
    if task is None:
        central = asked_guarantee(trust, central_epsilon, delta, epsilon)
        now, span = int(time.time()), seconds_of("--collect", collect)
        enrolled = now + (seconds_of("--enrol", enrol) if enrol else span)
        lists = read_lists(catalogue, word_list, word_list_order, normalise)
        order: dict[str, Any] = {
            "name": name, "attribute": attribute, "k": k, "mechanism": mechanism, "mode": mode,
            "oracle": oracle, "encoding": encoding, "settings": read_settings(settings), "strategy": strategy,
            "text_recovery": text_recovery, "normalise": normalise or "", "central": central and vars(central),
            "items_per_user": items_per_user, "reading": reading,
            **({} if epsilon is None else {"epsilon": epsilon}),
            **{option: client.keep_list(listed) for option, listed in lists.items()},
            "parties": parties.split(",") if parties else [], "expected": read_expected(expected or ()),
            "max_times_expected": max_times_expected, "policy": policy,
            "patience": seconds_of("--patience", patience),
            "deadlines": {
                "opens": now, "enrolment": enrolled if mode == "rounds" else now + span,
                "reports": (enrolled if mode == "rounds" else now) + span,
                "level_seconds": seconds_of("--level-time", level_time),
            },
            "least": {"estimate": min_reports, "validation": min_validation},
        }  # fmt: skip
        task = client.order(order)
        note(f"task {task}")
    if not wait:
        asked = f"asked: treetop query --server {server} --task {task}"
        print_json(client.state(task)) if json else out.print(asked, soft_wrap=True)
        return
    present(Answer.from_json(followed(client, task)), json, target)


def read_expected(pairs: Iterable[str]) -> dict[str, int]:
    """Return the users that `--expected NAME=USERS` names, each party once."""
    expected: dict[str, int] = {}
    for pair in pairs:
        name, _, users = pair.rpartition("=")
        if not name or not (users.isascii() and users.isdigit()):
            raise InvalidInput(f"--expected expects NAME=USERS, found {pair!r}")
        if name in expected:
            raise InvalidInput(f"--expected names {name!r} twice")
        expected[name] = int(users)
    return expected


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
