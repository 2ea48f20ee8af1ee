"""Commands that Flower starts in place of its own: they run the app that is installed here, never one that was sent.

Flower sends an app's code to every machine that takes part, and runs what it was sent. A party would so run whatever
the operator of SuperLink sends, and SuperLink whatever anybody sends who reaches it. `treetop-flower link` and `node`
therefore give Flower a search path on which its commands for apps are these. They are written for exactly the version
of Flower that the lock names: what they replace are internal names.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from treetop_flower.settings import LinkSettings, settings_from_environment


def server_app() -> None:
    """Stand in for flwr-serverapp: run the gateway."""
    _log_to("gateway.log", settings_from_environment(LinkSettings).state)
    from treetop_flower.server_app import app  # noqa: PLC0415  loads Flower

    runtime = import_module("flwr.superlink.runtime.run_serverapp")
    run = runtime.run_
    _replace(runtime, "run_", lambda grid, context, **_: run(grid, context, server_app_dir="", loaded_server_app=app))
    _replace(runtime, "install_from_fab", _nothing)
    _replace(runtime, "get_project_config", lambda *_: {"tool": {"flwr": {"app": {"components": {"serverapp": ""}}}}})
    _replace(runtime, "get_fused_config_from_dir", lambda *_: {})
    import_module("flwr.superlink.cli.flwr_serverapp").flwr_serverapp()


def client_app() -> None:
    """Stand in for flwr-clientapp: hand a message to the party's service."""
    from treetop_flower.client_app import app  # noqa: PLC0415  loads Flower

    runtime = import_module("flwr.supernode.runtime.run_clientapp")
    _replace(runtime, "install_from_fab", _nothing)
    _replace(runtime, "get_load_client_app_fn", lambda **_: lambda *_: app)
    import_module("flwr.supernode.cli.flwr_clientapp").flwr_clientapp()


def refuse() -> NoReturn:
    """Stand in for all commands that start something else."""
    sys.exit("this machine runs the apps of the Treetop bridge alone")


def _replace(module: Any, name: str, new: Any) -> None:
    """Put something in the place of a name that must be there."""
    getattr(module, name)
    setattr(module, name, new)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _log_to(name: str, folder: Path) -> None:
    """Keep what the app says: Flower throws it away."""
    handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
