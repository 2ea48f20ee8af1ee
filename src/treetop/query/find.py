"""One answer by simulation: `treetop.find`; and how a run scores against the ground truth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from secrets import randbelow
from typing import Any
from warnings import warn

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.datasets.loading import as_federation
from treetop.datasets.word_list import Words, word_list_of
from treetop.encoding.bit_strings import Codes
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, TreetopWarning
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import DEFAULT_MECHANISM, unread_settings
from treetop.mechanisms.summed_level import NO_REPORTS
from treetop.metrics.noise_advice import CLEAR, Advice, LastLevel, advice
from treetop.metrics.retrieval import f1, local_recall, ncr
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO
from treetop.privacy.guarantee import NOT_COVERED
from treetop.public_text import visible
from treetop.query.answer import SIMULATION, Answer, AnswerItem, AnswerParty, Covered, OutsideShare, Privacy, Truth
from treetop.query.strategy import Chosen, FindRequest, choose
from treetop.simulation.population import Population
from treetop.simulation.run import RunResult, run
from treetop.trie.global_ranking import Source, described_list


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
    k: int = 10,
    epsilon: float = 2.0,
    mechanism: str | Mechanism[Any] = DEFAULT_MECHANISM,
    oracle: str | Oracle = AUTO,
    encoding: str | ItemCodec | None = None,
    seed: int | None = None,
    simulator: str = "exact",
    strategy: str | None = None,
    catalogue: ItemCatalogue | Iterable[object] | None = None,
    word_list: Words | None = None,
    word_list_order: str | None = None,
    text_recovery: bool | None = None,
    normalise: str | Sequence[str] = (),
    **settings: object,
) -> Answer:
    """Return the k most popular items of a federation, found under epsilon-LDP by a simulated run.

    `data` is a Federation, a path, {party: iterable of items}, {party: {item: users}} or a table with the columns
    `party`, `item` and optionally `users`. Mechanism, oracle and encoding are names or objects. With a `catalogue` of
    known items nothing is searched: every user reports her item once. Items that fit no short code are hashed, and
    their names read from a `word_list` or recovered from reports (`text_recovery`); `strategy` says so outright:
    catalogue, trie, hashed, or panorama, which counts every name at once. A word list is words, {word: frequency}, a
    file or "wordfreq:en"; of words that share a hash the likelier is read if it has frequencies or `word_list_order` is
    "popularity". `normalise` names the steps ("nfc", "casefold", "trim") that items and lists are put through first.
    Further settings are those of `--set`. Without a seed one is drawn. What a reader of the answer should know is in
    its `notes`, and a warning each.

    >>> import treetop
    >>> drinks = {"harbour": {"chai": 9000, "cocoa": 2000}, "market": {"chai": 5000, "latte": 3000}}
    >>> answer = treetop.find(drinks, k=2, epsilon=4, seed=1)
    >>> answer
    Answer(canopy, auto oracle, words, k = 2, ε = 4, seed 1: chai, latte)
    >>> answer.items[0].true_count
    14000
    """
    if "way" in settings:
        raise InvalidInput("expected strategy='catalogue', 'trie', 'hashed' or 'panorama', found the old name 'way'")
    words = word_list_of(word_list, word_list_order)
    request = FindRequest(
        k, epsilon, mechanism, oracle, encoding, strategy, catalogue, words, text_recovery, normalise, settings
    )
    answer = simulated_answer(as_federation(data), request, seed=seed, simulator=simulator)
    warn_of(answer.notes)
    return answer


def warn_of(notes: Iterable[str]) -> None:
    """Warn whoever called a function of the Python interface of every note."""
    for note in notes:
        warn(visible(note), TreetopWarning, stacklevel=3)


def simulated_answer(
    federation: Federation, request: FindRequest, *, seed: int | None = None, simulator: str = "exact"
) -> Answer:
    """Simulate one run of a query, and return what it found with its notes."""
    seed = checked_seed(seed)
    chosen = choose(federation, request, seed)
    mechanism, population, parameters = chosen.mechanism, chosen.population, chosen.parameters
    outcome = run(mechanism, parameters, population, seed=seed, simulator=simulator)
    scored, users = score(outcome, population, parameters.k), population.roster.all_users
    notes = (
        *population.notes,
        *mechanism_notes(mechanism, parameters, population, request.settings),
        *_empty_level_notes(outcome),
        *_undecided_notes(outcome, chosen),
    )
    return Answer(
        mechanism=mechanism.name,
        oracle=parameters.oracle_name,
        encoding=population.codec.name,
        k=parameters.k,
        epsilon=float(parameters.epsilon),
        seed=seed,
        items=_items(outcome, population),
        parties=_parties(outcome, population, parameters.k),
        notes=notes,
        choices=(*mechanism.choices(parameters), *_list_choices(chosen), f"chosen because {chosen.reason}"),
        missing=(),
        mode=SIMULATION,
        task=None,
        name=None,
        covered=Covered(users, "known", users, 1.0),
        levels=mechanism.levels(parameters),
        privacy=Privacy(repr(float(parameters.epsilon)).removesuffix(".0"), 1, parameters.oracle_name, NOT_COVERED),
        fakes_needed=None,
        outside=_outside(outcome, population),
        truth=Truth(scored.f1, scored.ncr),
        advice=_advice(outcome, population, parameters),
    )


def checked_seed(seed: int | None) -> int:
    """Return the seed, or draw one from the operating system."""
    if seed is None:
        return randbelow(SEEDS_BELOW)
    if seed < 0:
        raise InvalidInput(f"seed must be a whole number from 0, found {seed}")
    return seed


def mechanism_notes(
    mechanism: Mechanism[Any], parameters: Parameters, population: Population, settings: Mapping[str, object]
) -> list[str]:
    """Say which settings a mechanism does not read, and where it has nobody to share with or the wrong oracle."""
    notes = [*unread_settings(mechanism, settings), *mechanism.notes(parameters)]
    if mechanism.shares and len(population.parties) == 1:
        notes.append(f"{mechanism.name}: there is one party only and nobody to share with")
    return notes


def _empty_level_notes(outcome: RunResult) -> list[str]:
    """Say which parties had nobody to ask at some levels."""
    empty = {
        party: [str(trace.level) for trace in traces if trace.note == NO_REPORTS]
        for party, traces in outcome.traces.items()
    }
    notes = [
        f"party {party!r} had no reports at level {', '.join(levels)} and is left out of the sums there"
        for party, levels in empty.items()
        if levels
    ]
    if (more := len(notes) - MAX_NAMED) > 0:
        return [*notes[:MAX_NAMED], f"{more:,} more parties had no reports at some levels"]
    return notes


def _undecided_notes(outcome: RunResult, chosen: Chosen) -> list[str]:
    """Say how many names of the answer are several words, between which the list cannot decide."""
    ranking = outcome.ranking
    texts = [] if ranking.texts is None else zip(ranking.prefixes.tolist(), ranking.texts.tolist(), strict=True)
    shown = sum(text is not None and text.source == "listed" and code in chosen.undecided for code, text in texts)
    if not shown:
        return []
    return [
        f"{shown:,} names of the answer are several words of the list that share a hash, joined by 'or': "
        "a list in order of popularity, or with a column 'frequency', would decide"
    ]


def _list_choices(chosen: Chosen) -> list[str]:
    """Say which list names are read from."""
    if (words := chosen.words) is None:
        return []
    return [described_list(words.source, len(words.items), words.ordered)]


def _items(outcome: RunResult, population: Population) -> tuple[AnswerItem, ...]:
    ranking, users = outcome.ranking, population.roster.all_users
    names, sources = _names(outcome, population, ranking.prefixes)
    marks = [None] * len(ranking) if ranking.significant is None else ranking.significant.tolist()
    columns = (
        names, ranking.counts.tolist(), ranking.variances.tolist(), marks, sources, ranking.parties.tolist(),
        population.true_counts(ranking.prefixes),
    )  # fmt: skip
    return tuple(
        AnswerItem(name, count, count / users, variance**0.5, mark, source, parties, true_count)
        for name, count, variance, mark, source, parties, true_count in zip(*columns, strict=True)
    )


def _names(outcome: RunResult, population: Population, codes: Codes) -> tuple[list[str], list[Source | None]]:
    """Return the names of codes and where they come from: hashes are read by what the run has read, and no further."""
    if outcome.ranking.texts is None:
        return population.show(codes), [None] * len(codes)
    read = dict(zip(outcome.ranking.prefixes.tolist(), outcome.ranking.texts.tolist(), strict=True))
    texts = [read.get(code) for code in codes.tolist()]
    names = [
        population.codec.show(code) if text is None else text.text.decode("utf-8", errors="replace")
        for code, text in zip(codes.tolist(), texts, strict=True)
    ]
    return names, ["unknown" if text is None else text.source for text in texts]


def _parties(outcome: RunResult, population: Population, k: int) -> tuple[AnswerParty, ...]:
    return tuple(
        AnswerParty(
            party.name,
            party.users,
            outcome.uplink_bits[party.name],
            share=party.users / population.roster.all_users,
            expected=party.users,
            coverage=1.0,
            items=tuple(_names(outcome, population, outcome.local_tops[party.name][:k])[0]),
            trace=tuple(outcome.traces[party.name]),
        )
        for party in population.parties
    )


def _outside(outcome: RunResult, population: Population) -> OutsideShare | None:
    """Compare the estimated users outside a catalogue with the true ones."""
    outside, users = outcome.ranking.outside, population.roster.all_users
    if outside is None:
        return None
    truth = 1 - int(population.truth.users.sum()) / users
    return OutsideShare(outside.count / users, outside.variance**0.5 / users, truth)


def _advice(outcome: RunResult, population: Population, parameters: Parameters) -> Advice | None:
    """Look at the last item of the answer, if there is one."""
    if not len(outcome.ranking):
        return None
    count, variance = float(outcome.ranking.counts[-1]), float(outcome.ranking.variances[-1])
    levels = [
        LastLevel(party.users, outcome.findings[party.name].reports, outcome.findings[party.name].domain)
        for party in population.parties
        if outcome.findings[party.name].reports
    ]
    clear = CLEAR if outcome.ranking.z is None else outcome.ranking.z
    return advice(count, variance**0.5, levels, parameters.oracle, parameters.epsilon, clear=clear)
