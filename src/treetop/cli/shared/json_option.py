"""`--json`, which every command spells alike; apart from the other options, because these load numpy and pyarrow."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON alone; notes and progress go to standard error.")]
