"""The pages and files of one answer, wherever it came from: exports, and the page that is signed."""

from collections.abc import Callable, Sequence

from starlette.responses import Response

from treetop.answers.answer import Answer
from treetop.web.exports import exported
from treetop.web.sign_off import NOT_RUN, sign_off
from treetop.web.site import Site, Visit

Digests = Sequence[tuple[str, str]]


def add_answers(
    site: Site,
    path: str,
    answer_of: Callable[[Visit], Answer],
    *,
    digests_of: Callable[[Visit], Digests] = lambda _: (),
    audit: Callable[[], str] = lambda: NOT_RUN,
) -> None:
    """Add below a path, such as /queries/{task}: the page to sign at /answer, and files at /answer.json and the like.

    `answer_of` returns the answer that a visit is about, or refuses.
    """

    def signed(visit: Visit) -> Response:
        page = sign_off(answer_of(visit), digests_of(visit), audit())
        return site.shown(visit, "sign_off.html.jinja", page=page, back=visit.request.url.path.removesuffix("/answer"))

    site.add("GET", f"{path}/answer", signed)
    site.add(
        "GET", f"{path}/answer.{{kind}}", lambda visit: exported(answer_of(visit), visit.request.path_params["kind"])
    )
