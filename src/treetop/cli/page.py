"""`treetop page`: play with a question in the browser, over a file and without any federation."""

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from treetop.cli.file_options import FILES, reads_files, written_options
from treetop.cli.screen import out, reading_bar
from treetop.datasets.loading import federation_named
from treetop.datasets.table_files.options import ReadOptions
from treetop.extras import needed_for

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE...]",
        help=FILES,
        show_default="syn",
    ),
]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Where to listen on this machine.", show_default="a free one")
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
Audit = Annotated[
    Path | None,
    typer.Option(
        "--audit",
        metavar="FILE",
        help="What `treetop audit --output audit.json` wrote, for the page to sign.",
        show_default=False,
    ),
]
HOST = "127.0.0.1"


@reads_files
def page(
    files: Files = None,
    *,
    port: Port = 0,
    open_page: Open = False,
    audit: Audit = None,
    read: ReadOptions,
) -> None:
    """Serve a page, to this machine only, on which you ask simulated users of a file and play with epsilon."""
    with needed_for("the page", "federation"):
        from treetop.adapters.http.endpoint_settings import Address, ServiceLimits  # noqa: PLC0415  the web is an extra
        from treetop.adapters.http.serving import listening, serve  # noqa: PLC0415
        from treetop.adapters.system.telemetry import StructuredLog  # noqa: PLC0415
        from treetop.web.answer_pages import NOT_RUN, read_audit  # noqa: PLC0415
        from treetop.web.simulator import ByAddress, simulator_app  # noqa: PLC0415

    words = files or ["syn"]
    recorded = NOT_RUN if audit is None else str(read_audit(audit))
    with reading_bar() as progress:
        federation = federation_named(words, replace(read, progress=progress))
    source = [*words, *written_options(read)]
    log = StructuredLog()
    entrance = ByAddress()
    with listening(Address(HOST, port)) as listener:
        here = f"http://{HOST}:{listener.getsockname()[1]}"
        out.print(f"{federation!r} is at {here}{entrance.path}", soft_wrap=True)
        out.print("Whoever has this address can look. Ctrl-C ends it.")
        if open_page:
            webbrowser.open(here + entrance.path_for_once())
        serve(
            simulator_app(federation, source, log, entrance, recorded),
            listener,
            tls=None,
            log=log,
            limits=ServiceLimits(),
            renew=lambda: None,
        )
