"""One answer by simulation: `treetop.find`; and how a run scores against the ground truth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import randbelow
from typing import Any
from warnings import warn

from treetop.answers.answer import SIMULATION, Answer
from treetop.answers.json_form import MAX_NUMBER
from treetop.answers.parts import AnswerItem, AnswerParty, Covered, OutsideShare, Privacy, Truth, ranked_items
from treetop.datasets.federation import Federation
from treetop.datasets.item_lists import Words, catalogue_of, word_list_of
from treetop.datasets.loading import as_federation
from treetop.encoding.bit_strings import Codes
from treetop.encoding.item_codecs import ItemCatalogue, ItemCodec, ListedItems
from treetop.errors import InvalidInput, TreetopWarning
from treetop.federation.device.ledger import Caps
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import Query
from treetop.mechanisms.summed_level import NO_REPORTS
from treetop.metrics.answer_quality import CLEAR, Advice, LastLevel, advice, choices_of_sets, f1, local_recall, ncr
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO
from treetop.oracles.set_reports import HOLDERS
from treetop.privacy.guarantee import NOT_COVERED
from treetop.privacy.shuffling import (
    CentralGuarantee,
    asked_guarantee,
    central_guarantee,
    epsilon_choice,
    usual_delta,
)
from treetop.public_text import visible
from treetop.query.preparation import prepared
from treetop.query.sets import asked_of_sets
from treetop.simulation.population import Population
from treetop.simulation.run import RunResult, run
from treetop.trie.global_ranking import Source
from treetop.wording import Note


@dataclass(frozen=True)
class Score:
    """How good one run was and what it cost."""

    f1: float
    ncr: float
    local_recall: float
    uplink_bits: float
    """Mean per party."""
    seconds: float


def score(outcome: RunResult, population: Population, k: int) -> Score:
    """Compare what a run found with the k most popular items."""
    truth = population.truth.codes[:k].tolist()
    found: list[int] = outcome.ranking.prefixes.tolist()
    if outcome.ranking.texts is not None:  # a hash whose text was not read, or wrongly, counts as another code
        read = [None if text is None else text.text for text in outcome.ranking.texts.tolist()]
        right = population.popular_texts
        found = [code if right.get(code) == text else -1 - code for code, text in zip(found, read, strict=True)]
    local = [top[:k].tolist() for top in outcome.local_tops.values()]
    bits = sum(outcome.uplink_bits.values()) / len(outcome.uplink_bits)
    return Score(f1(found, truth), ncr(found, truth), local_recall(local, truth), bits, outcome.seconds)


SEEDS_BELOW = 2**32
MAX_NAMED = 5


def find(
    data: Any,
    *,
    k: int = DEFAULT_K,
    epsilon: float | None = None,
    mechanism: str | Mechanism[Any] | None = None,
    oracle: str | Oracle = AUTO,
    encoding: str | ItemCodec | None = None,
    seed: int | None = None,
    simulator: str = "exact",
    strategy: str | None = None,
    catalogue: ItemCatalogue | Iterable[object] | str | Path | None = None,
    word_list: Words | None = None,
    word_list_order: str | None = None,
    text_recovery: bool | None = None,
    normalise: str | Sequence[str] = (),
    user: str | None = None,
    rows_are_users: bool = False,
    items_per_user: int | str | None = None,
    reading: str | None = None,
    trust: str | None = None,
    central_epsilon: float | None = None,
    delta: float | None = None,
    **settings: object,
) -> Answer:
    """Return the k most popular items of a federation, found under epsilon-LDP by a simulated run.

    - `data` is a Federation, a path, {party: iterable of items}, {party: {item: users}}, or a table with the columns
      `party`, `item` and optionally `users`.
    - `epsilon` is 2 by default. With `trust="party"` it is computed so that users have `central_epsilon` with `delta`
      (1e-8) towards everybody but their own party.
    - `mechanism`, `oracle` and `encoding` are names or objects. The default is Panorama, which counts every name at
      once: ids as they are, the items of a `catalogue` and nothing else, or hashes of texts. Another mechanism, or an
      encoding such as "words", searches a trie. `strategy` chooses outright: panorama, trie, catalogue or hashed.
    - `word_list` names hashed texts: words, {word: frequency}, a file or "wordfreq:en". Of words that share a hash the
      more frequent is taken, if the list has frequencies or `word_list_order` is "popularity". Texts on no list are
      read from the reports (`text_recovery`).
    - `normalise` names the steps ("nfc", "casefold", "trim") that items and lists are put through first.
    - `user` names the column of user ids where users hold many items (or `load` does). A report then covers at most
      `items_per_user` of them (8; "auto" asks some users for the size of their set), and `reading` says what a count
      is: holders, shares or use_shares. A column that looks like user ids must be named, unless `rows_are_users`.
    - `seed` is drawn if it is not given. Further `settings` are those of `--set`.

    What a reader of the answer should know is in its `notes`, each of which is also a warning.

    >>> import treetop
    >>> drinks = {"harbour": {"chai": 9000, "cocoa": 2000}, "market": {"chai": 5000, "latte": 3000}}
    >>> answer = treetop.find(drinks, k=2, epsilon=4, seed=1)
    >>> answer
    Answer(panorama, auto oracle, hashed, k = 2, ε = 4, seed 1: chai, latte)
    >>> answer.items[0].true_count
    14000
    """
    known = catalogue_of(catalogue)
    words = word_list_of(word_list, word_list_order)
    central = asked_guarantee(trust, central_epsilon, delta, epsilon)
    query = Query(
        k,
        DEFAULT_EPSILON if epsilon is None else epsilon,
        mechanism,
        oracle,
        encoding,
        strategy=strategy,
        catalogue=known,
        word_list=words,
        text_recovery=text_recovery,
        normalise=normalise,
        settings=settings,
        central=central,
    )
    federation = as_federation(data, user=user, rows_are_users=rows_are_users)
    answer = simulated_answer(
        federation,
        query,
        seed=seed,
        simulator=simulator,
        items_per_user=items_per_user,
        reading=reading,
    )
    warn_of(answer.notes)
    return answer


def warn_of(notes: Iterable[Note]) -> None:
    """Turn every note into a warning for the caller of a function of the Python interface."""
    for note in notes:
        warn(visible(note.text), TreetopWarning, stacklevel=3)


def simulated_answer(
    federation: Federation,
    query: Query,
    *,
    seed: int | None = None,
    simulator: str = "exact",
    items_per_user: int | str | None = None,
    reading: str | None = None,
) -> Answer:
    """Simulate one run of a query, and return what it found with its notes.

    Where a central guarantee is asked for, the epsilon of reports is the one that gives it.
    """
    seed = checked_seed(seed)
    everybody, delta = {party.name: party.total for party in federation.parties}, usual_delta(federation.users)
    central = query.central
    chosen: tuple[Note, ...] = ()
    held = items_per_user if items_per_user is not None else query.settings.get("items_per_user")

    def of_sets(query: Query) -> tuple[Federation, Query]:
        if not federation.holds_sets and held is None and reading is None:
            return federation, query
        return asked_of_sets(federation, query, items_per_user=held, reading=reading, seed=seed)

    if central is not None:
        strategy, delta = prepared(*of_sets(query), seed).strategy, central.delta
        local = strategy.local_epsilon(everybody.values(), central, Caps().per_task)
        query, chosen = replace(query, epsilon=local), (epsilon_choice(local, central, min(everybody.values())),)
    federation, query = of_sets(query)
    ready = prepared(federation, query, seed)
    mechanism, population, parameters = ready.mechanism, ready.population, ready.parameters
    outcome = run(mechanism, parameters, population, seed=seed, simulator=simulator)
    scored = score(outcome, population, parameters.k)
    users = population.roster.all_users
    parties = _parties(outcome, population, parameters, everybody, delta)
    return Answer(
        mechanism=mechanism.name,
        oracle=parameters.oracle_name,
        encoding=population.codec.name,
        k=parameters.k,
        epsilon=float(parameters.epsilon),
        seed=seed,
        items=_items(outcome, population),
        parties=parties,
        notes=(
            *ready.notes,
            *_empty_level_notes(outcome),
            *mechanism.notes.of_ranking(outcome.ranking),
            *_shortfall_notes(parties, central),
        ),
        choices=(*_set_choices(outcome, population, parameters), *ready.strategy.choices, *chosen),
        missing=(),
        mode=SIMULATION,
        task=None,
        name=None,
        covered=Covered(users, "known", users, 1.0),
        levels=len(mechanism.levels(parameters)),
        privacy=Privacy(repr(float(parameters.epsilon)).removesuffix(".0"), 1, parameters.oracle_name, NOT_COVERED),
        fakes_needed=None,
        outside=_outside(outcome, population),
        truth=Truth(scored.f1, scored.ncr),
        advice=_advice(outcome, population, parameters),
        items_per_user=None if population.question is None else population.question.items_per_user,
        reading=HOLDERS if population.question is None else population.question.reading,
    )


def _set_choices(outcome: RunResult, population: Population, parameters: Parameters) -> tuple[Note, ...]:
    """Return what counts mean where users hold sets, and what a fake user weighs."""
    asked = population.question
    if asked is None:
        return ()
    oracles = (trace.oracle for traces in outcome.traces.values() for trace in traces)
    return choices_of_sets(asked, next(oracles, parameters.oracle_name), parameters.epsilon)


def checked_seed(seed: int | None) -> int:
    """Return the seed, or draw one from the operating system."""
    if seed is None:
        return randbelow(SEEDS_BELOW)
    if not 0 <= seed <= MAX_NUMBER:
        raise InvalidInput("seed_out_of_range", most=MAX_NUMBER, seed=seed)
    return seed


def _empty_level_notes(outcome: RunResult) -> list[Note]:
    """Note the parties that had nobody to ask at some levels."""
    empty = {
        party: [trace.level for trace in traces if trace.note == NO_REPORTS] for party, traces in outcome.traces.items()
    }
    notes = [Note("no_reports_at_levels", party=party, levels=levels) for party, levels in empty.items() if levels]
    more = len(notes) - MAX_NAMED
    if more > 0:
        return [*notes[:MAX_NAMED], Note("no_reports_elsewhere", parties=more)]
    return notes


def _items(outcome: RunResult, population: Population) -> tuple[AnswerItem, ...]:
    ranking = outcome.ranking
    names = _names(outcome, population, ranking.prefixes)
    true_counts = population.true_counts(ranking.prefixes)
    return ranked_items(ranking, names, outcome.estimates, population.roster.all_users, true_counts)


def _names(outcome: RunResult, population: Population, codes: Codes) -> list[tuple[str, Source | None]]:
    """Return the names of codes, and who said so; hashes that a run reads are not read from the federation's items."""
    reads = outcome.ranking.texts is not None
    return outcome.ranking.names_of(codes, population.codec.show if reads else population.shown)


def _shortfall_notes(parties: Iterable[AnswerParty], wanted: CentralGuarantee | None) -> list[Note]:
    """Note where the groups came out smaller than a central guarantee that was asked for needs them."""
    found = [(party.name, party.central) for party in parties if party.central is not None]
    return [Note("at_party", party=name, note=note) for name, central in found for note in central.shortfall(wanted)]


def _parties(
    outcome: RunResult,
    population: Population,
    parameters: Parameters,
    everybody: Mapping[str, int],
    delta: float,
) -> tuple[AnswerParty, ...]:
    """Say what every party did; who of everybody is not in the population was asked only how many items she holds."""
    k = parameters.k
    epsilon = parameters.epsilon
    return tuple(
        AnswerParty(
            party.name,
            party.users,
            outcome.uplink_bits[party.name],
            share=party.users / population.roster.all_users,
            expected=party.users,
            coverage=1.0,
            central=central_guarantee(
                [*outcome.groups[party.name], everybody[party.name] - party.users], epsilon, delta
            ),
            items=tuple(name for name, _ in _names(outcome, population, outcome.local_tops[party.name][:k])),
            trace=tuple(outcome.traces[party.name]),
        )
        for party in population.parties
    )


def _outside(outcome: RunResult, population: Population) -> OutsideShare | None:
    """Compare the estimated users outside a catalogue with the true ones."""
    outside = outcome.ranking.outside
    users = population.roster.all_users
    if outside is None or not isinstance(population.codec, ListedItems):
        return None
    truth = sum(party.outside for party in population.parties) / users
    return OutsideShare(outside.count / users, outside.variance**0.5 / users, truth)


def _advice(outcome: RunResult, population: Population, parameters: Parameters) -> Advice | None:
    """Look at the last item of the answer, if there is one and it is not marked as more than noise."""
    marks = outcome.ranking.significant
    if not len(outcome.ranking) or (marks is not None and marks[-1]):
        return None
    count = float(outcome.ranking.counts[-1])
    variance = float(outcome.ranking.variances[-1])
    counted = [outcome.findings[party.name].heavy_hitters for party in population.parties]
    levels = [LastLevel(each.users, each.reports, each.oracle.size) for each in counted if each.reports]
    clear = CLEAR if outcome.ranking.z is None else outcome.ranking.z
    return advice(
        count,
        variance**0.5,
        levels,
        parameters.asked_oracle,
        parameters.epsilon,
        true_count=population.true_counts(outcome.ranking.prefixes[-1:])[0],
        largest=float(Caps.per_task),
        clear=clear,
    )
