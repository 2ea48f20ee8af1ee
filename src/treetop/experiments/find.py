"""One answer: `treetop.find`."""

from secrets import randbelow
from typing import Any

from treetop.datasets.federation import Federation
from treetop.datasets.histogram_table import as_federation
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput
from treetop.experiments.answer import Answer, AnswerItem, AnswerParty
from treetop.experiments.score import score
from treetop.mechanisms.catalog import DEFAULT_MECHANISM, Mechanism, mechanism_named
from treetop.mechanisms.parameters import Parameters
from treetop.metrics.noise_advice import Advice, LastLevel, advice
from treetop.oracles.catalog import AUTO
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import Outcome, run

SEEDS_BELOW = 2**32


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
    **settings: object,
) -> Answer:
    """Return the k most popular items of a federation, found under epsilon-LDP by a simulated run.

    `data` is a Federation, {party: iterable of items}, {party: {item: users}} or a table with the columns `party`,
    `item` and optionally `users`. Further settings are those of `--set`. Without a seed one is drawn.
    """
    federation = as_federation(data)
    chosen = mechanism_named(mechanism)
    parameters = Parameters(k, Epsilon(epsilon), oracle).with_settings(settings)
    population = populate(federation, parameters, encoding)
    seed = checked_seed(seed)
    outcome = run(chosen, parameters, population, seed=seed, simulator=simulator)
    notes = (*population.notes, *setting_notes(chosen, settings), *sharing_notes(chosen, population))
    return answer(outcome, population, parameters, mechanism=chosen, seed=seed, notes=notes)


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
    )


def _items(outcome: Outcome, population: Population) -> tuple[AnswerItem, ...]:
    ranking, users = outcome.ranking, population.roster.all_users
    names = population.show(ranking.prefixes)
    truths = population.true_counts(ranking.prefixes)
    numbers = zip(ranking.counts.tolist(), ranking.variances.tolist(), ranking.parties.tolist(), strict=True)
    return tuple(
        AnswerItem(name, count, count / users, variance**0.5, parties, true)
        for name, true, (count, variance, parties) in zip(names, truths, numbers, strict=True)
    )


def _parties(outcome: Outcome, population: Population, k: int) -> tuple[AnswerParty, ...]:
    return tuple(
        AnswerParty(
            party.name,
            party.users,
            outcome.uplink_bits[party.name],
            tuple(population.show(outcome.findings[party.name].top(k))),
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
    return advice(count, variance**0.5, levels, parameters.oracle, parameters.epsilon)
