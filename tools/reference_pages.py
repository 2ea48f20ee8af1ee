"""Writes the reference pages that come from the code: `make docs`.

Three of them are kept in git, because other pages refer to them, and a test checks that they are up to date. The others
are made for the site.
"""

import ast
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools.supply_chain.locks import ROOT
from tools.supply_chain.sbom import bill
from typer import Typer
from typer.testing import CliRunner

from treetop.cli.commands import COMMANDS, assembled
from treetop.federation.protocol import MESSAGES, REPLIES, PartyReply
from treetop.mechanisms.panorama import algorithm, parameters
from treetop.mechanisms.registry import OWN, SETTINGS
from treetop.privacy.epsilon import Epsilon
from treetop.services.party import app as party_app
from treetop.services.server import app as server_app
from treetop.whole_files import write_whole

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
FEDERATION = DOCS / "explanation" / "federation.md"
PANORAMA = DOCS / "explanation" / "panorama.md"
END = "<!-- end -->\n"


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
    app = assembled(COMMANDS)
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
    """Return the page of the federation with its tables."""
    return _with_printed(FEDERATION.read_text(), "federation/protocol.py", protocol_tables())


def _with_printed(page: str, source: str, text: str) -> str:
    """Return a page with a text between the marks of the file that the text is printed from."""
    begin = f"<!-- printed from {source}: begin -->\n"
    before, _, rest = page.partition(begin)
    return before + begin + text + END + rest.partition(END)[2]


def panorama_page() -> str:
    """Return the page of Panorama with its algorithm and its constants."""
    _, _, box = (algorithm.__doc__ or "").partition("\n\n")
    page = _with_printed(
        PANORAMA.read_text(), "mechanisms/panorama/algorithm.py", f"```text\n{box[: box.rindex(chr(10) * 2)]}\n```\n"
    )
    return _with_printed(page, "mechanisms/panorama/parameters.py", panorama_constants())


def panorama_constants() -> str:
    """Return the constants of Panorama, each with the text below it in the code: its derivation, or what chose it."""
    statements = ast.parse(Path(parameters.__file__).read_text()).body
    rows = ["| constant | value | where it comes from |", "|---|---|---|"]
    for assignment, text in pairwise(statements):
        if isinstance(assignment, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            (target,) = assignment.targets
            name = ast.unparse(target)
            value = getattr(parameters, name)
            shown = f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
            rows.append(f"| `{name}` | {shown} | {' '.join(str(text.value.value).split())} |")
    return "\n".join([*rows, ""])


def openapi_page(description: dict[str, Any]) -> str:
    """Return the description of an API."""
    return json.dumps(description, indent=2, sort_keys=True) + "\n"


def licences_page() -> str:
    """Return every package that is locked with its licence, as the bill of materials has them."""
    needed_by = {"party": "party, server", "runtime": "extras", "words": "extras", "flower": "bridge to Flower"}
    rows = [
        f"| {each['name']} | {each['version']} | {needed_by.get(_lock(each), 'our own checks')} | "
        f"{' and '.join(map(_licence, each.get('licenses', []))) or 'not installed here'} |"
        for each in bill()["components"]
    ]
    head = (
        "# Licences\n\nTreetop is under the Apache License 2.0. Every package that is locked, with the licence that it "
        "states about itself,\nif it was installed where this page was made. A name that stands here twice "
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


def kept_pages() -> dict[Path, str]:
    """Return what the pages in git must hold."""
    return {REFERENCE / "settings.md": settings_page(), FEDERATION: federation_page(), PANORAMA: panorama_page()}


def site_pages() -> dict[Path, str]:
    """Return the pages that are made for the site, and ignored by git."""
    return {
        REFERENCE / "commands.md": command_page(),
        REFERENCE / "licences.md": licences_page(),
        REFERENCE / "party_openapi.json": openapi_page(party_app.description()),
        REFERENCE / "server_openapi.json": openapi_page(server_app.description()),
    }


def write(pages: dict[Path, str]) -> None:
    """Write pages that have changed; others keep their time, by which Sphinx knows what to read again."""
    for path, text in pages.items():
        if not path.exists() or path.read_text("utf-8") != text:
            write_whole(path, text.encode("utf-8"))


if __name__ == "__main__":
    write(kept_pages() | site_pages())
