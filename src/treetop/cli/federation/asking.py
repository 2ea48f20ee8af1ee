"""What `treetop query` and `treetop campaign` have in common: whom they ask, and the question."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.cli.options import SEARCH, K, MaybeMechanism, Options, completing, of_query, read_settings, seconds_of
from treetop.cli.screen import note
from treetop.datasets.item_lists import load_catalogue, word_list_of
from treetop.encoding.normalisation import steps_named
from treetop.errors import InvalidInput
from treetop.federation.server.expected_users import MAX_TIMES_EXPECTED
from treetop.federation.server.order_json import query_to_json
from treetop.federation.task_parameters import known_items
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.defaults import DEFAULT_BUDGET
from treetop.mechanisms.query import Query
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.shuffling import asked_guarantee
from treetop.secret_files import read_secret
from treetop.services.server.client import ServerClient

LIST_OPTIONS = ("catalogue", "word_list", "word_list_order", "normalise")
"""What is said of them, in the order in which they are read."""


def read_lists(
    catalogue: Path | None, word_list: str | None, word_list_order: str | None, normalise: str | None
) -> dict[str, ItemList]:
    """Return the list that is given, by its option, put through the steps that devices put their item through."""
    words = word_list_of(word_list, word_list_order)
    if catalogue is not None and words is not None:
        raise InvalidInput("catalogue_and_word_list")
    known = words if catalogue is None else load_catalogue(catalogue)
    if known is None:
        return {}
    if normalise:
        known = known.normalised(steps_named(normalise))
    for said in known.notes:
        note(said.text)
    return {"word_list" if catalogue is None else "catalogue": ItemList(known.items, known.ordered, known.source)}


POLICIES = ("wait", "proceed")
ServerUrl = Annotated[
    str,
    typer.Option("--server", envvar="TREETOP_SERVER", help="Address of the server, https://…", show_default=False),
]
KeyFile = Annotated[
    Path, typer.Option("--key-file", envvar="TREETOP_KEY_FILE", help="File with an admin key.", show_default=False)
]
CaFile = Annotated[Path | None, typer.Option("--ca", help="Certificates to trust instead of the system's.")]
Name = Annotated[str, typer.Option("--name", help="What the query is called; devices show it to people.")]
Attribute = Annotated[
    str, typer.Option("--attribute", help="What is asked about; a device answers about one attribute only.")
]
EpsilonText = Annotated[str | None, of_query("epsilon", unset=DEFAULT_BUDGET)]
OracleOption = Annotated[
    str,
    of_query("oracle", "auto: walsh for names, olh for a trie; in rounds the better of krr and oue."),
]
EncodingOption = Annotated[str | None, of_query("encoding", unset="hashed; words, where a trie is searched")]
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
Policy = Annotated[
    str,
    typer.Option(
        "--policy",
        help="A party that does not answer: wait, or proceed without it.",
        autocompletion=completing(POLICIES),
    ),
]
Patience = Annotated[str, typer.Option("--patience", metavar="DURATION", help="How long a party may stay silent.")]
Least = Annotated[int, typer.Option("--least-reports", help="Groups with fewer reports are not used.")]
LeastValidation = Annotated[int, typer.Option("--least-validation", help="The same for validation sets (TAPS).")]

QUESTION: Options = {
    "name": (Name, "query"),
    "attribute": (Attribute, "item"),
    "k": (K, 10),
    "epsilon": (EpsilonText, None),
    "mechanism": (MaybeMechanism, None),
    "oracle": (OracleOption, "auto"),
    "encoding": (EncodingOption, None),
    **SEARCH,
    "parties": (Parties, None),
    "expected": (Expected, None),
    "max_times_expected": (MaxTimes, MAX_TIMES_EXPECTED),
    "policy": (Policy, "wait"),
    "patience": (Patience, "1h"),
    "min_reports": (Least, 500),
    "min_validation": (LeastValidation, 100),
}
"""What is asked, of whom, and what is done about those who do not answer."""


def client_of(server: str, key_file: Path, ca: Path | None) -> ServerClient:
    """Return a client of the server that a command names, with the key in its file."""
    try:
        key = read_secret(key_file).decode("ascii").strip()
    except OSError as reason:
        raise InvalidInput("key_file_unreadable", key_file=key_file, reason=reason.strerror) from None
    except UnicodeDecodeError:
        raise InvalidInput("key_file_not_ascii", key_file=key_file) from None
    if not key:
        raise InvalidInput("key_file_empty", key_file=key_file)
    return ServerClient(RetryingConnection(server, ca), key)


def asked_question(client: ServerClient, question: dict[str, Any]) -> dict[str, Any]:
    """Return a question as the server's API takes it; lists that it names are put there first."""
    lists = read_lists(*(question[name] for name in LIST_OPTIONS))
    known: dict[str, Any] = {option: known_items(listed) for option, listed in lists.items()}
    query = Query(
        **{name: question[name] for name in ("k", "mechanism", "oracle", "encoding", "strategy", "text_recovery")},
        **({} if question["epsilon"] is None else {"epsilon": question["epsilon"]}),
        **known,
        normalise=question["normalise"] or (),
        settings=read_settings(question["settings"]),
        central=asked_guarantee(question["trust"], question["central_epsilon"], question["delta"], question["epsilon"]),
        sets=SetQuestion.asked(question["items_per_user"], question["reading"]),
    )
    for listed in lists.values():
        client.keep_list(listed)
    return {
        **query_to_json(query),
        **{name: question[name] for name in ("name", "attribute", "max_times_expected", "policy")},
        "parties": question["parties"].split(",") if question["parties"] else [],
        "expected": read_expected(question["expected"] or ()),
        "patience": seconds_of("--patience", question["patience"]),
        "least": {"estimate": question["min_reports"], "validation": question["min_validation"]},
    }


def read_expected(pairs: Iterable[str]) -> dict[str, int]:
    """Return the users that `--expected NAME=USERS` names, each party once."""
    expected: dict[str, int] = {}
    for pair in pairs:
        name, _, users = pair.rpartition("=")
        if not name or not (users.isascii() and users.isdigit()):
            raise InvalidInput("expected_malformed", pair=pair)
        if name in expected:
            raise InvalidInput("expected_twice", name=name)
        expected[name] = int(users)
    return expected
