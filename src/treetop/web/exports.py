"""An answer as files to take along: JSON, CSV, Parquet, SVG and PNG."""

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from starlette.responses import Response

from treetop.adapters.http.problem_details import Problem
from treetop.answers.answer import Answer
from treetop.answers.result_files import without_formulas
from treetop.extras import MissingExtra, needed_for
from treetop.web.answer_view import chart
from treetop.web.drawings.svg import standing_alone

PNG_DOTS = 150
"""For each inch."""


def exported(answer: Answer, kind: str) -> Response:
    """Return an answer as a file, or refuse a kind that there is not."""
    if kind not in KINDS:
        raise Problem(404, f"an answer is exported as {', '.join(KINDS)}, found {kind}")
    media_type, written = KINDS[kind]
    # A party or an analyst chose the name: of it a file's name gets what every system takes.
    name = re.sub(r"[^a-z0-9]+", "-", (answer.name or "answer").lower()).strip("-")[:60] or "answer"
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(written(answer), headers=headers, media_type=media_type)


def json_of(answer: Answer) -> bytes:
    """Return the file whose digest stands on the page to sign."""
    return json.dumps(answer.to_json(), indent=2, allow_nan=False).encode("ascii") + b"\n"


def _csv(answer: Answer) -> bytes:
    """Write the items; a text that a spreadsheet would take for a formula gets an apostrophe."""
    sink = BytesIO()
    pa.csv.write_csv(without_formulas(answer.to_arrow()), sink)
    return sink.getvalue()


def _parquet(answer: Answer) -> bytes:
    sink = BytesIO()
    pa.parquet.write_table(answer.to_arrow(), sink)
    return sink.getvalue()


def _svg(answer: Answer) -> bytes:
    return standing_alone(chart(answer))


def _png(answer: Answer) -> bytes:
    try:
        with needed_for("a PNG", "plot"):
            from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except MissingExtra as missing:
        raise Problem(501, str(missing)) from None
    figure = Figure(figsize=(7, 1.2 + 0.35 * max(len(answer.items), 3)), layout="constrained")
    answer.plot(figure.subplots())
    sink = BytesIO()
    figure.savefig(sink, format="png", dpi=PNG_DOTS)
    return sink.getvalue()


KINDS: Mapping[str, tuple[str, Callable[[Answer], bytes]]] = {
    "json": ("application/json", json_of),
    "csv": ("text/csv", _csv),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "svg": ("image/svg+xml", _svg),
    "png": ("image/png", _png),
}
