"""A federation on this machine: begun from data that are known, its answer scored against the ground truth."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from treetop.answers.answer import Answer
from treetop.answers.parts import AnswerItem, CampaignPlace, ItemChange, Truth
from treetop.datasets.federation import Federation
from treetop.datasets.loading import AS_IT_IS, federation_named
from treetop.datasets.party_split import first_parties, with_users
from treetop.datasets.table_files.options import ReadOptions
from treetop.encoding.item_codecs import Hashed, ListedItems
from treetop.errors import InvalidInput
from treetop.federation.server.order_json import query_from_json, query_to_json
from treetop.federation.server.planning import planned_task
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of, steps_of
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.query import TRIE, Query
from treetop.mechanisms.strategy import ItemsAhead, choose
from treetop.metrics.answer_quality import f1, ncr
from treetop.oracles.set_reports import SetQuestion
from treetop.query.find import checked_seed
from treetop.services.local.folder import FederationFolder, LocalOptions, checked_same
from treetop.services.local.run import local_notes, order_of
from treetop.services.server.client import ServerClient
from treetop.simulation.population import Population
from treetop.simulation.weeks import DRIFT, moved, weekly_places

DEFAULTS = LocalOptions()
KEY_BYTES = 8
DRIFTING = 1
"""Sets the randomness of the drift apart from that of the choice of users."""


def opened_folder(
    directory: Path | None,
    wanted: Mapping[str, Any],
    lists: Mapping[str, ItemList] | None = None,
    read: ReadOptions = AS_IT_IS,
) -> FederationFolder:
    """Return the folder of a federation: the one that is there, or a new one with these options.

    An option that is None was not given: a new federation takes the default, one that is there keeps its own. `lists`
    has a `catalogue` or a `word_list`, put through the same steps of normalising as the items will be; `read` says
    how the data are to be read.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    given |= {name: listed.digest for name, listed in (lists or {}).items()}
    if directory is not None and FederationFolder.is_one(directory):
        folder = FederationFolder(directory)
        checked_same(folder.options, given)
        return folder
    drawn, options = _begun(given, lists or {}, read)
    listed = next(iter((lists or {}).values()), None)
    order = order_of(options, {party.name: party.total for party in drawn.parties}, listed)
    planned_task(order)  # refuses what nobody could ask, before anything is laid out
    options = replace(options, query={**options.query, "epsilon": order.local_epsilon})
    weekly_federations(drawn, options)
    return FederationFolder.begin(directory or Path(tempfile.mkdtemp(prefix="treetop-up-")), options, drawn, listed)


def _begun(
    given: Mapping[str, Any], lists: Mapping[str, ItemList], read: ReadOptions
) -> tuple[Federation, LocalOptions]:
    """Draw the users, and settle what was left open: the strategy that suits the items, as `find` does."""
    data = given.get("data", DEFAULTS.data)
    seed = checked_seed(given.get("seed"))
    federation = federation_named(
        [data],
        replace(read, user=given.get("user_column"), rows_are_users=given.get("rows_are_users", False)),
    )
    by_user = "user_column" in given
    if not by_user and (wrong := [name for name in ("items_per_user", "reading") if name in given]):
        raise InvalidInput("set_option_without_sets", wrong=wrong[0])
    if "parties" in given or data == DEFAULTS.data:
        federation = first_parties(federation, given.get("parties", DEFAULTS.parties))
    drawn = with_users(federation, given.get("users", DEFAULTS.users), np.random.default_rng(seed))
    content = {name: given.get(name, value) for name, value in query_to_json(Query()).items()}
    if by_user:
        content |= vars(SetQuestion.of(content["items_per_user"], content["reading"]))
    by_digest = {listed.digest: listed for listed in lists.values()}
    query = query_from_json(content, by_digest.__getitem__)
    asked = replace(query, normalise=())
    if given.get("mode", DEFAULTS.mode) == "rounds" and (query.strategy, query.mechanism) == (None, None):
        asked = replace(asked, strategy=TRIE)
    items = drawn.normalised(query.normalise).items if query.normalise else drawn.items
    ahead = ItemsAhead(items, drawn.encoding)
    chosen = choose(asked, ahead, parties=len(drawn.parties), hash_key=token_hex(KEY_BYTES))
    encoding = None if chosen.codec.name == ListedItems.name else chosen.codec.name
    settings = dict(query.settings)
    if chosen.mechanism.reports_names and encoding is not None:
        names = ("bits", "hash_key", "text_chunks") if encoding == Hashed.name else ("bits",)
        known = chosen.parameters.settings()
        settings = {name: str(getattr(chosen.parameters, name)) for name in names if name in known} | settings
    query = replace(query, mechanism=chosen.mechanism.name, encoding=encoding, settings=settings)
    if "weeks" in given:
        given = {"drift": DRIFT, **given}
    settled = {
        **{name: value for name, value in given.items() if name not in content},
        "query": query_to_json(query),
        "seed": seed,
        "parties": len(drawn.parties),
        "users": given.get("users", drawn.users),
    }
    return drawn, LocalOptions(**settled)


def weekly_federations(drawn: Federation, options: LocalOptions) -> tuple[Federation, ...]:
    """Return what the users of a campaign hold in each of its weeks; none without a campaign."""
    if options.weeks is None:
        return ()
    places = weekly_places(
        drawn,
        drift=options.drift or 0.0,
        k=options.query["k"],
        randomness=np.random.default_rng((options.seed, DRIFTING)),
    )
    return tuple(moved(drawn, next(places)) for _ in range(options.weeks))


class GroundTruth:
    """What a federation on this machine should find."""

    def __init__(
        self, folder: FederationFolder, task: DeviceTask | None = None, federation: Federation | None = None
    ) -> None:
        """Take what users hold and are asked: in a campaign that of a week, otherwise that of the folder."""
        expected = {name: home.users for name, home in folder.parties.items()}
        self._options = folder.options
        listed = folder.listed
        task = task or planned_task(order_of(folder.options, expected, listed))
        federation = federation or folder.federation()
        federation = federation if task.sets is None else federation.asking(task.sets)
        steps = steps_of(task)
        codec = codec_of(task, () if listed is None else listed.items)
        self.population = Population(federation.normalised(steps) if steps else federation, codec)

    def scored(self, answer: Answer) -> Answer:
        """Return an answer with the true counts beside the items, scored, and with the seed of its users.

        Codes of a trie are shown as the items that they stand for. Names that the federation read itself stay as it
        read them: a hash whose text was not read, or wrongly, counts as another item.
        """
        population = self.population
        codes = self.population.truth.codes
        rank = {code: place for place, code in enumerate(codes.tolist())}
        by_name = {population.codec.show(code): code for code in rank}
        counts = dict(zip(rank, population.truth.users.tolist(), strict=True))
        texts = population.popular_texts
        items = []
        found = []
        for place, row in enumerate(answer.items):
            code = by_name.get(row.item, -1) if row.source in (None, "unknown") else self._code_of(row)
            shown = population.shown(code) if row.source is None and code in rank else row.item
            items.append(replace(row, item=shown, true_count=counts.get(code, 0)))
            right = row.source is None or texts.get(code) == row.item.encode("utf-8", errors="surrogatepass")
            found.append(rank[code] if right and code in rank else -1 - place)
        best = range(min(answer.k, len(codes)))
        return replace(
            answer,
            items=tuple(items),
            seed=self._options.seed,
            notes=(*answer.notes, *population.notes, *local_notes(self._options, population.roster.all_users)),
            truth=Truth(f1(found, best), ncr(found, best)),
        )

    def _code_of(self, row: AnswerItem) -> int:
        """Return the hash of a text that was read; of several, joined by "or", that of the first."""
        codes = self.population.codec.encode([row.item, row.item.partition(" or ")[0]]).codes.tolist()
        held = {*self.population.truth.codes.tolist()}
        return int(codes[0] if codes[0] in held else codes[1])


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
