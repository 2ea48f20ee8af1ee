"""One answer: `treetop.find`."""

from collections.abc import Iterable
from dataclasses import replace
from secrets import randbelow
from typing import Any

from treetop.datasets.federation import Federation
from treetop.datasets.histogram_table import as_federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.encoding.item_codecs import codec_named
from treetop.encoding.listed_items import ListedItems
from treetop.errors import InvalidInput
from treetop.experiments.answer import Answer, AnswerItem, AnswerParty, OutsideShare
from treetop.experiments.score import score
from treetop.mechanisms.catalog import DEFAULT_MECHANISM, Mechanism, catalogue_mechanism, mechanism_named
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.summed_level import NO_REPORTS
from treetop.metrics.noise_advice import CLEAR, Advice, LastLevel, advice
from treetop.oracles.catalog import AUTO
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import Outcome, run

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
    catalogue: ItemCatalogue | Iterable[object] | None = None,
    **settings: object,
) -> Answer:
    """Return the k most popular items of a federation, found under epsilon-LDP by a simulated run.

    `data` is a Federation, {party: iterable of items}, {party: {item: users}} or a table with the columns `party`,
    `item` and optionally `users`. With a `catalogue` of known items nothing is searched: every user reports her item
    once. Further settings are those of `--set`. Without a seed one is drawn.
    """
    federation = as_federation(data)
    parameters = Parameters(k, Epsilon(epsilon), oracle).with_settings(settings)
    if catalogue is None:
        chosen, population = mechanism_named(mechanism), populate(federation, parameters, encoding)
    else:
        chosen, population = catalogued(federation, catalogue, mechanism, encoding)
    seed = checked_seed(seed)
    outcome = run(chosen, parameters, population, seed=seed, simulator=simulator)
    notes = (
        *population.notes,
        *setting_notes(chosen, settings),
        *sharing_notes(chosen, population),
        *oracle_notes(chosen, parameters),
        *missing_notes(outcome),
    )
    return answer(outcome, population, parameters, mechanism=chosen, seed=seed, notes=notes)


def catalogued(
    federation: Federation, catalogue: ItemCatalogue | Iterable[object], mechanism: str, encoding: str | None
) -> tuple[Mechanism, Population]:
    """Encode a federation by a catalogue; mechanisms that search, and their encodings, have no place then."""
    known = catalogue if isinstance(catalogue, ItemCatalogue) else ItemCatalogue.of(catalogue)
    if mechanism != DEFAULT_MECHANISM or encoding is not None:
        found = f"mechanism {mechanism!r}" if mechanism != DEFAULT_MECHANISM else f"encoding {encoding!r}"
        raise InvalidInput(f"with a catalogue nothing is searched or encoded, found the {found}: leave it out")
    codec = ListedItems(known.items)
    population = Population(replace(federation, notes=(*federation.notes, *known.notes)), codec)
    return catalogue_mechanism(len(known.items), codec.bits), population


def populate(federation: Federation, parameters: Parameters, encoding: str | None) -> Population:
    """Encode a federation, by default in the encoding that suits its items."""
    codec = codec_named(encoding or federation.encoding, parameters.bits, parameters.hash_key)
    return Population(federation, codec)


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


def missing_notes(outcome: Outcome) -> tuple[str, ...]:
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
    outcome: Outcome,
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


def _outside(outcome: Outcome, population: Population) -> OutsideShare | None:
    """Compare the estimated users outside a catalogue with the true ones."""
    outside, users = outcome.ranking.outside, population.roster.all_users
    if outside is None:
        return None
    truth = 1 - int(population.truth.users.sum()) / users
    return OutsideShare(outside.count / users, outside.variance**0.5 / users, truth)


def _items(outcome: Outcome, population: Population) -> tuple[AnswerItem, ...]:
    ranking, users = outcome.ranking, population.roster.all_users
    names = population.show(ranking.prefixes)
    truths = population.true_counts(ranking.prefixes)
    marks = [None] * len(ranking) if ranking.significant is None else ranking.significant.tolist()
    numbers = zip(ranking.counts.tolist(), ranking.variances.tolist(), ranking.parties.tolist(), strict=True)
    return tuple(
        AnswerItem(name, count, count / users, variance**0.5, parties, true, mark)
        for name, true, mark, (count, variance, parties) in zip(names, truths, marks, numbers, strict=True)
    )


def _parties(outcome: Outcome, population: Population, k: int) -> tuple[AnswerParty, ...]:
    return tuple(
        AnswerParty(
            party.name,
            party.users,
            outcome.uplink_bits[party.name],
            tuple(population.show(outcome.local_tops[party.name][:k])),
            tuple(outcome.traces[party.name]),
        )
        for party in population.parties
    )


def _advice(outcome: Outcome, population: Population, parameters: Parameters) -> Advice | None:
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
