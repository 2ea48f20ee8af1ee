"""One answer: `treetop.find`."""

from collections.abc import Iterable
from dataclasses import replace
from secrets import randbelow
from typing import Any

from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.datasets.loading import as_federation
from treetop.encoding.bit_strings import Codes
from treetop.errors import InvalidInput
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import DEFAULT_MECHANISM, Mechanism
from treetop.mechanisms.summed_level import NO_REPORTS
from treetop.metrics.noise_advice import CLEAR, Advice, LastLevel, advice
from treetop.oracles.registry import AUTO
from treetop.privacy.epsilon import Epsilon
from treetop.query.answer import Answer, AnswerItem, AnswerParty, OutsideShare
from treetop.query.score import score
from treetop.query.strategy import Told, choose
from treetop.simulation.population import Population
from treetop.simulation.run import RunResult, run
from treetop.trie.global_ranking import Source

SEEDS_BELOW = 2**32
MOST_NAMED = 5


def find(
    data: Any,
    *,
    k: int = 10,
    epsilon: float = 2.0,
    mechanism: str = DEFAULT_MECHANISM,
    oracle: str = AUTO,
    encoding: str | None = None,
    seed: int | None = None,
    simulator: str = "exact",
    way: str | None = None,
    catalogue: ItemCatalogue | Iterable[object] | None = None,
    word_list: ItemCatalogue | Iterable[object] | None = None,
    text_recovery: bool | None = None,
    **settings: object,
) -> Answer:
    """Return the k most popular items of a federation, found under epsilon-LDP by a simulated run.

    `data` is a Federation, {party: iterable of items}, {party: {item: users}} or a table with the columns `party`,
    `item` and optionally `users`. With a `catalogue` of known items nothing is searched: every user reports her item
    once. Items that fit no short code are hashed, and their names read from a `word_list` or recovered from reports
    (`text_recovery`); `way` says so outright: catalogue, trie or hashed. Further settings are those of `--set`. Without
    a seed one is drawn.
    """
    federation = as_federation(data)
    asked = Parameters(k, Epsilon(epsilon), oracle).with_settings(settings)
    told = Told(mechanism, encoding, way, catalogue, word_list, text_recovery)
    taken = choose(federation, asked, told, settings)
    chosen, population, parameters = taken.mechanism, taken.population, taken.parameters
    seed = checked_seed(seed)
    outcome = run(chosen, parameters, population, seed=seed, simulator=simulator)
    notes = (
        *population.notes,
        *setting_notes(chosen, settings),
        *sharing_notes(chosen, population),
        *oracle_notes(chosen, parameters),
        *missing_notes(outcome),
    )
    found = answer(outcome, population, parameters, mechanism=chosen, seed=seed, notes=notes)
    return replace(found, choices=(*found.choices, f"chosen because {taken.reason}"))


def checked_seed(seed: int | None) -> int:
    """Return the seed, or draw one from the operating system."""
    if seed is None:
        return randbelow(SEEDS_BELOW)
    if seed < 0:
        raise InvalidInput(f"seed must be a whole number from 0, found {seed}")
    return seed


def setting_notes(mechanism: Mechanism, settings: dict[str, object]) -> tuple[str, ...]:
    """Say which settings a mechanism does not read."""
    return tuple(
        f"{mechanism.name} does not use the setting {name!r}" for name in settings if name not in mechanism.reads
    )


def sharing_notes(mechanism: Mechanism, population: Population) -> tuple[str, ...]:
    """Say so where a mechanism that shares has nobody to share with."""
    if mechanism.shares and len(population.parties) == 1:
        return (f"{mechanism.name}: there is one party only and nobody to share with",)
    return ()


def oracle_notes(mechanism: Mechanism, parameters: Parameters) -> tuple[str, ...]:
    """Say so where k-RR is asked about more slots than it is good at."""
    if mechanism.name != "canopy" or parameters.oracle != "krr":
        return ()
    return ("canopy asks about thousands of candidates at once, where krr is far noisier than the oracle auto",)


def missing_notes(outcome: RunResult) -> tuple[str, ...]:
    """Say which parties had nobody to ask at some levels."""
    levels = {
        party: [str(trace.level) for trace in traces if trace.note == NO_REPORTS]
        for party, traces in outcome.traces.items()
    }
    missing = [
        f"party {party!r} had no reports at level {', '.join(empty)} and is left out of the sums there"
        for party, empty in levels.items()
        if empty
    ]
    more = len(missing) - MOST_NAMED
    return (*missing[:MOST_NAMED], *([f"{more:,} more parties had no reports at some levels"] if more > 0 else []))


def answer(
    outcome: RunResult,
    population: Population,
    parameters: Parameters,
    *,
    mechanism: Mechanism,
    seed: int,
    notes: tuple[str, ...],
) -> Answer:
    """Dress a run's outcome for a reader."""
    return Answer(
        mechanism=mechanism.name,
        encoding=population.codec.name,
        parameters=parameters,
        seed=seed,
        items=_items(outcome, population),
        parties=_parties(outcome, population, parameters.k),
        truth=score(outcome, population, parameters.k),
        users=population.roster.all_users,
        advice=_advice(outcome, population, parameters),
        notes=notes,
        choices=mechanism.choices(parameters),
        outside=_outside(outcome, population),
    )


def _outside(outcome: RunResult, population: Population) -> OutsideShare | None:
    """Compare the estimated users outside a catalogue with the true ones."""
    outside, users = outcome.ranking.outside, population.roster.all_users
    if outside is None:
        return None
    truth = 1 - int(population.truth.users.sum()) / users
    return OutsideShare(outside.count / users, outside.variance**0.5 / users, truth)


def _items(outcome: RunResult, population: Population) -> tuple[AnswerItem, ...]:
    ranking, users = outcome.ranking, population.roster.all_users
    names, sources = shown(outcome, population, ranking.prefixes)
    truths = population.true_counts(ranking.prefixes)
    marks = [None] * len(ranking) if ranking.significant is None else ranking.significant.tolist()
    numbers = zip(ranking.counts.tolist(), ranking.variances.tolist(), ranking.parties.tolist(), strict=True)
    return tuple(
        AnswerItem(name, count, count / users, variance**0.5, parties, true, mark, source)
        for name, source, true, mark, (count, variance, parties) in zip(
            names, sources, truths, marks, numbers, strict=True
        )
    )


def shown(outcome: RunResult, population: Population, codes: Codes) -> tuple[list[str], list[Source | None]]:
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
            tuple(shown(outcome, population, outcome.local_tops[party.name][:k])[0]),
            tuple(outcome.traces[party.name]),
        )
        for party in population.parties
    )


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
