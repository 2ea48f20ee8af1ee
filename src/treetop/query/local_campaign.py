"""The answers of a campaign on this machine: each scored against what users held in its week, with what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from treetop.answers.answer import Answer
from treetop.answers.parts import CampaignPlace, ItemChange
from treetop.datasets.federation import Federation
from treetop.query.local_federation import GroundTruth
from treetop.services.local.folder import FederationFolder
from treetop.services.server.client import ServerClient


def with_changes(answer: Answer, week: Mapping[str, Any]) -> Answer:
    """Return the answer of a week with what the server says has changed since the week before."""
    if answer.campaign is None or week["compared_with"] is None:
        return answer
    found = [ItemChange(row["item"], row["change"], row["score"]) for row in week["items"]]
    gone = [ItemChange(item, "gone", None) for item in week["gone"]]
    place: CampaignPlace = replace(answer.campaign, compared_with=week["compared_with"], changes=(*found, *gone))
    return replace(answer, campaign=place)


def weekly_answers(
    folder: FederationFolder, server: ServerClient, weeks: Sequence[Mapping[str, Any]], held: Sequence[Federation]
) -> list[Answer]:
    """Return the answers of the weeks that have one, scored."""
    answers = []
    for week in weeks:
        if week["state"] != "answered":
            continue
        answer = with_changes(Answer.from_json(server.result(week["task"])), week)
        answers.append(GroundTruth(folder, server.task(week["task"]), held[week["number"] - 1]).scored(answer))
    return answers
