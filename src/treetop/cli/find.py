"""`treetop find`: one answer."""

from dataclasses import replace

from treetop.cli.file_options import Files, reads_files
from treetop.cli.options import (
    CatalogueFile,
    CentralEpsilon,
    Delta,
    Encoding,
    ItemsPerUser,
    K,
    MaybeEpsilon,
    MaybeMechanism,
    Normalise,
    Oracle,
    Reading,
    Seed,
    Set,
    Simulator,
    Strategy,
    TextRecovery,
    Trust,
    WordList,
    WordListOrder,
    read_settings,
)
from treetop.cli.output import OutputFile, checked_target
from treetop.cli.rendering import present
from treetop.cli.screen import Json, reading_bar, waiting
from treetop.datasets.item_lists import load_catalogue, word_list_of
from treetop.datasets.loading import federation_named
from treetop.datasets.table_files.options import ReadOptions
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.query import Query
from treetop.oracles.registry import AUTO
from treetop.privacy.shuffling import asked_guarantee
from treetop.query.find import simulated_answer


@reads_files
def find(
    files: Files,
    *,
    k: K = DEFAULT_K,
    epsilon: MaybeEpsilon = None,
    mechanism: MaybeMechanism = None,
    oracle: Oracle = AUTO,
    encoding: Encoding = None,
    strategy: Strategy = None,
    catalogue: CatalogueFile = None,
    word_list: WordList = None,
    word_list_order: WordListOrder = None,
    text_recovery: TextRecovery = None,
    normalise: Normalise = None,
    items_per_user: ItemsPerUser = None,
    reading: Reading = None,
    trust: Trust = None,
    central_epsilon: CentralEpsilon = None,
    delta: Delta = None,
    seed: Seed = None,
    settings: Set = None,
    simulator: Simulator = "exact",
    output: OutputFile = None,
    json: Json = False,
    read: ReadOptions,
) -> None:
    """Find the k most popular items of a federation in one simulated run."""
    target = checked_target(output)
    chosen = read_settings(settings)
    central = asked_guarantee(trust, central_epsilon, delta, epsilon)
    with reading_bar() as progress:
        federation = federation_named(files, replace(read, progress=progress))
    with waiting("running"):
        query = Query(
            k,
            DEFAULT_EPSILON if epsilon is None else epsilon,
            mechanism,
            oracle,
            encoding,
            strategy=strategy,
            catalogue=None if catalogue is None else load_catalogue(catalogue),
            word_list=word_list_of(word_list, word_list_order),
            text_recovery=text_recovery,
            normalise=() if normalise is None else normalise,
            settings=chosen,
            central=central,
        )
        answer = simulated_answer(
            federation, query, seed=seed, simulator=simulator, items_per_user=items_per_user, reading=reading
        )
    present(answer, json, target)
