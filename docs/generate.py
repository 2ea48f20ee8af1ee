"""Writes the reference pages that come from the code: `make docs`. A test checks that they are up to date."""

import json
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from typer import Typer
from typer.main import get_command
from typer.testing import CliRunner

from treetop.cli.app import app
from treetop.federation.protocol import MESSAGES, REPLIES, PartyReply
from treetop.mechanisms.registry import OWN, SETTINGS
from treetop.privacy.epsilon import Epsilon
from treetop.services.party import app as party_app
from treetop.services.server import app as server_app

REFERENCE = Path(__file__).parent / "reference"
SBOM = Path(__file__).parents[1] / "requirements" / "sbom.json"
FEDERATION = Path(__file__).parent / "explanation" / "federation.md"
COMPLETION = Path(__file__).parents[1] / "src" / "treetop" / "cli" / "shared" / "completion.json"
SHELL_OPTIONS = ("install_completion", "show_completion", "help")
OWN_ORACLES, OWN_CODECS = ("krr", "oue", "olh", "walsh"), ("words", "ids", "text", "hashed")
BEGIN, END = "<!-- printed from federation/protocol.py: begin -->\n", "<!-- end -->\n"


def settings_page() -> str:
    """Return every setting with its symbol, default and readers."""
    rows = []
    for name, known in SETTINGS.items():
        readers = [each for each in OWN.values() if name in each.parameters.settings()]
        defaults = {each.name: getattr(each.parameters(10, Epsilon(2)), name) for each in readers}
        first = defaults[readers[0].name]
        others = "".join(f"; {mechanism} `{own}`" for mechanism, own in defaults.items() if own != first)
        rows.append(
            f"| `{name}` | {_code(known.symbol)} | `{first}`{others} | {known.expects} | {known.help} | "
            f"{', '.join(each.name for each in readers)} |"
        )
    head = (
        "# Settings\n\nEvery parameter and every reading of the paper, as `--set name=value` on the command line or as "
        "a keyword in Python.\nA mechanism that does not read a setting that you gave says so.\n\n"
        "| name | in the paper | default | expects | what it is | read by |\n|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def _code(symbol: str) -> str:
    return f"`{symbol}`" if symbol else ""


def command_page() -> str:
    """Return the help text of every command."""
    runner = CliRunner()
    parts = ["# Commands\n"]
    for words in _commands(app):
        text = runner.invoke(app, [*words, "--help"], env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"}).output
        parts.append(f"## treetop {' '.join(words)}\n\n```\n{text.strip()}\n```\n")
    return "\n".join(parts)


def _commands(of: Typer) -> Iterator[list[str]]:
    for command in of.registered_commands:
        if command.callback:
            yield [command.name or command.callback.__name__]
    for group in of.registered_groups:
        yield [str(group.name)]
        yield from ([str(group.name), *words] for words in _commands(group.typer_instance or Typer()))


def protocol_tables() -> str:
    """Return the messages and replies of one query, and which may follow which."""
    messages = [
        f"| `{kind}` | {'' if rule.after is None else f'`{rule.after}`'} | {rule.says} | {rule.does} | "
        f"{', '.join(f'`{reply}`' for reply in rule.replies)} |"
        for kind, rule in MESSAGES.items()
    ]
    replies = []
    for kind, found in REPLIES.items():
        following = ", ".join(f"`{message}`" for message, rule in MESSAGES.items() if rule.after == kind)
        means = f"rounds: {found.means}" if found.rounds_only else found.means
        replies.append(f"| `{kind}` | {means} | {'nothing' if PartyReply(kind).is_last else following} |")
    return "\n".join([
        "| server says | after | that is | party does | and replies |", "|---|---|---|---|---|", *messages, "",
        "| party replies | that is | followed by |", "|---|---|---|", *replies, "",
    ])  # fmt: skip


def federation_page() -> str:
    """Return the page of the federation with its tables printed anew."""
    before, _, rest = FEDERATION.read_text().partition(BEGIN)
    return before + BEGIN + protocol_tables() + END + rest.partition(END)[2]


def openapi_page(description: dict[str, Any]) -> str:
    """Return the description of an API."""
    return json.dumps(description, indent=2, sort_keys=True) + "\n"


def licences_page() -> str:
    """Return every package that is locked with its licence, as the bill of materials has them."""
    bill = json.loads(SBOM.read_text("utf-8"))
    needed_by = {"party": "party, server", "runtime": "extras", "words": "extras", "flower": "bridge to Flower"}
    rows = [
        f"| {each['name']} | {each['version']} | {needed_by.get(_lock(each), 'our own checks')} | "
        f"{' and '.join(map(_licence, each['licenses']))} |"
        for each in bill["components"]
    ]
    head = (
        "# Licences\n\nTreetop is under the Apache License 2.0. Every package that is locked, with the licence that it "
        "states about itself,\nfrom `requirements/sbom.json` (CycloneDX, `make sbom`). A name that stands here twice "
        "has versions for older and\nnewer Pythons, or another one for the bridge to Flower. The extras pandas, dask, "
        "excel, sql and tracing install\nsome of what our own checks need; gpu installs CuPy, which is not locked.\n\n"
        "| package | version | needed by | licence |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


def _lock(component: dict[str, Any]) -> str:
    (name,) = (each["value"] for each in component["properties"] if each["name"] == "treetop:lock")
    return str(name)


def _licence(stated: dict[str, Any]) -> str:
    return str(stated.get("expression") or stated["license"]["name"]).replace("|", "/")


def completion_table() -> str:
    """Return all commands, their options and choices, as the shell completes them."""
    group: Any = get_command(app)
    return json.dumps(_completed(group, "treetop"), indent=1, ensure_ascii=False) + "\n"


def _completed(command: Any, name: str) -> dict[str, Any]:
    context = command.make_context(name, [], resilient_parsing=True)
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    return {
        "name": name,
        "help": (command.help or "").partition("\n")[0],
        "options": [_completed_option(each, context) for each in options if each.name not in SHELL_OPTIONS],
        "commands": [_completed(each, known) for known, each in getattr(command, "commands", {}).items()],
    }


def _completed_option(option: Any, context: Any) -> dict[str, Any]:
    choices = [item.value for item in option.shell_complete(context, "") if item.value]
    kinds = {"treetop.mechanisms": OWN, "treetop.oracles": OWN_ORACLES, "treetop.encodings": OWN_CODECS}
    plugins = next((group for group, own in kinds.items() if choices and set(own) <= set(choices)), None)
    own = set().union(*kinds.values())
    return {
        "names": [*option.opts, *option.secondary_opts] if not option.secondary_opts else
        ["/".join((option.opts[0], option.secondary_opts[0]))],
        "takes": not option.is_flag,
        "help": option.help or "",
        "choices": [name for name in choices if plugins is None or name in own or name not in _plugged(plugins)],
        "plugins": plugins,
    }  # fmt: skip


def _plugged(group: str) -> set[str]:
    return {point.name for point in entry_points(group=group)}


def pages() -> dict[Path, str]:
    """Return what every generated page must say."""
    return {
        REFERENCE / "settings.md": settings_page(),
        REFERENCE / "commands.md": command_page(),
        REFERENCE / "licences.md": licences_page(),
        FEDERATION: federation_page(),
        COMPLETION: completion_table(),
        REFERENCE / "party_openapi.json": openapi_page(party_app.description()),
        REFERENCE / "server_openapi.json": openapi_page(server_app.description()),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
