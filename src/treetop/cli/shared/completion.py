"""What the shell completes: all commands and options from a table, so that nothing else is loaded for it.

`docs/generate.py` writes the table from the commands themselves; what plug-ins add is looked up by name.
"""

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.resources import files
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

TABLE = "completion.json"


def completing_app() -> typer.Typer:
    """Return the commands with all they can be asked for, and nothing that they do."""
    return _group(json.loads(files("treetop.cli.shared").joinpath(TABLE).read_text("utf-8")))


def _group(table: dict[str, Any]) -> typer.Typer:
    group = typer.Typer(name=table["name"], help=table["help"], rich_markup_mode=None, invoke_without_command=True)
    if table["options"]:
        group.callback()(_command(table))
    for each in table["commands"]:
        if each["commands"]:
            group.add_typer(_group(each), name=each["name"])
        else:
            group.command(each["name"], help=each["help"])(_command(each))
    return group


def _command(table: dict[str, Any]) -> Callable[..., None]:
    def command(**_: object) -> None:
        """Do nothing."""

    parameters = []
    for place, option in enumerate(table["options"]):
        kind: Any = str | None if option["takes"] else bool
        default = None if option["takes"] else False
        annotation = Annotated[kind, _option(option)]
        name = f"option_{place}"
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


def _option(option: dict[str, Any]) -> Any:
    def complete(incomplete: str) -> list[str]:
        head, comma, last = incomplete.rpartition(",")
        names = list(option["choices"])
        if (group := option["plugins"]) is not None:
            names += [point.name for point in entry_points(group=group) if point.name not in names]
        return [head + comma + name for name in names if name.startswith(last)]

    own = complete if option["choices"] else None
    return typer.Option(*option["names"], help=option["help"], autocompletion=own)
