"""What fake devices do to an answer: `python -m benchmarks.poisoning` rewrites the tables and curves of the docs.

SYN, k = 10, exact simulation of honest users; crafted reports are added to the tallies. Fakes are spread over parties
and groups like honest devices. Their targets are five ids that nobody holds.

- input only: fakes hold a target and follow the protocol;
- maximal gain: k-RR always names a target; OUE sets the bits of all targets and as many others as an honest report
  has; OLH searches 256 seeds for the one that puts most targets into one bucket.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.datasets.synthetic import IDS_BELOW, synthetic
from treetop.encoding.bit_strings import Codes, prefixes_of
from treetop.encoding.item_codecs import codec_named
from treetop.mechanisms.dialogue import CollectReports
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import mechanism_named, parameters_for
from treetop.metrics.answer_quality import f1, fakes_needed
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.hashing import buckets, premixed
from treetop.oracles.olh.counting import HashedReports
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import PartyPopulation, Population
from treetop.simulation.run import PartyRun, drive
from treetop.simulation.simulated_users import ExactUsers
from treetop.trie.user_groups import Group

ROOT = Path(__file__).parents[1]
PAGE, FIGURE = ROOT / "docs/explanation/poisoning.md", ROOT / "docs/figures/poisoning.png"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
K, TARGETS, RUNS = 10, 5, 10
EPSILONS, SHARES = (1.0, 2.0, 4.0), (0.0001, 0.001, 0.01, 0.05)
WAYS = (("canopy", "olh"), ("canopy", "oue"), ("taps", "olh"), ("taps", "krr"))
MULTIPLES = (0.25, 0.5, 1.0, 1.5, 2.0, 4.0)
ATTACKS = ("input only", "maximal gain")
POOL, SEEDS_TRIED = 1 << 16, 256


@dataclass(frozen=True)
class Attack:
    """Fakes of one party for each honest user of it, and what they want."""

    kind: str
    fakes_per_user: float
    targets: Codes

    def crafted(self, request: CollectReports, bits: int, fakes: int, randomness: Generator) -> Tally:
        """Return the tally of the reports of so many fakes."""
        prefixes = prefixes_of(self.targets, bits, request.domain.length)
        slots = request.domain.slots_of(prefixes)
        if self.kind == "maximal gain" and request.oracle.name == "olh":
            return _searched_hashes(request, prefixes, fakes, randomness)
        if self.kind == "maximal gain" and request.oracle.name == "oue":
            return _padded_bits(request, np.unique(slots[slots < len(request.domain)]), fakes, randomness)
        named = np.bincount(slots, minlength=len(request.domain) + 1)
        holders = randomness.multinomial(fakes, named / named.sum())
        return (
            Tally(holders, fakes) if self.kind == "maximal gain" else request.oracle.sample_tally(holders, randomness)
        )


def _padded_bits(request: CollectReports, wanted: NDArray[Any], fakes: int, randomness: Generator) -> Tally:
    """OUE: all wanted bits, and others at random up to an honest number of ones."""
    oracle = request.oracle
    padding = max(0, round(oracle.p + (oracle.size - 1) * oracle.q) - len(wanted))
    others = np.full(oracle.size, 1.0)
    others[wanted] = 0
    support = randomness.multinomial(fakes * padding, others / others.sum())
    support[wanted] = fakes
    return Tally(np.minimum(support, fakes), fakes)


def _searched_hashes(request: CollectReports, prefixes: Codes, fakes: int, randomness: Generator) -> Tally:
    """OLH: of many seeds those under which most wanted keys share a bucket, which is reported."""
    oracle: Any = request.oracle
    seeds, reported = _best_seeds(tuple(request.domain.keys(np.unique(prefixes)).tolist()), oracle.report_slots)
    chosen = randomness.integers(len(seeds), size=fakes)
    tally: Tally = oracle.tally(
        HashedReports(seeds[chosen], reported[chosen]), request.domain.keys(request.domain.prefixes)
    )
    return tally


@lru_cache(256)
def _best_seeds(keys: tuple[int, ...], count: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    seeds = np.random.default_rng(len(keys)).integers(1 << 32, size=POOL, dtype=np.uint32)
    low, high = premixed(np.array(keys, dtype=np.uint64))
    places = np.stack([buckets(seeds, *halves, count) for halves in zip(low, high, strict=True)])
    together = (places[:, None, :] == places[None, :, :]).sum(axis=1)
    best = np.argsort(-together.max(axis=0), kind="stable")[: POOL // SEEDS_TRIED]
    return seeds[best], places[together.argmax(axis=0)[best], best]


class PoisonedRespondents(ExactUsers):
    """Honest users, and fakes who answer in the same groups."""

    def __init__(self, party: PartyPopulation, randomness: Generator, attack: Attack) -> None:
        super().__init__(party, randomness)
        self._attack = attack
        self.last: CollectReports | None = None

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        self.last = request
        honest = super()._answer(request, group)
        fakes = int(self.randomness.poisson(self._attack.fakes_per_user * self.sizes[group]))
        if not fakes:
            return honest
        return honest + self._attack.crafted(request, self.party.bits, fakes, self.randomness)


@dataclass(frozen=True)
class Setting:
    mechanism: str
    oracle: str
    epsilon: float
    kind: str
    fakes_per_user: float
    targets: int = TARGETS

    @property
    def parameters(self) -> Parameters:
        settings = {"groups": "independent"} if self.mechanism == "taps" else {}
        mechanism: Mechanism[Parameters] = mechanism_named(self.mechanism)
        return parameters_for(mechanism, K, self.epsilon, self.oracle, settings)


@dataclass(frozen=True)
class Run:
    entered: int
    f1: float
    p: float
    q: float


def unheld(population: Population, count: int, randomness: Generator) -> Codes:
    held = set(population.truth.codes.tolist())
    free = [code for code in randomness.permutation(IDS_BELOW)[: 100 * count].tolist() if code not in held]
    return np.array(free[:count], dtype=population.truth.codes.dtype)


def poisoned(population: Population, setting: Setting, repetition: int) -> Run:
    mechanism, parameters, roster = mechanism_named(setting.mechanism), setting.parameters, population.roster
    randomness = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(repetition,)))
    attack = Attack(setting.kind, setting.fakes_per_user, unheld(population, setting.targets, randomness))
    parties: dict[str, PartyRun] = {}
    for place, party in enumerate(population.parties):
        stream = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(repetition, place)))
        member = next(member for member in roster.members if member.name == party.name)
        respondents = PoisonedRespondents(party, stream, attack)
        parties[party.name] = PartyRun(mechanism.party(parameters, roster, member), respondents)
    found = drive(mechanism.server(parameters, roster), parties).prefixes[:K].tolist()
    last = parties[population.parties[0].name].respondents
    assert isinstance(last, PoisonedRespondents)
    assert last.last is not None
    oracle = last.last.oracle
    truth = population.truth.codes[:K].tolist()
    return Run(len(set(found) & set(attack.targets.tolist())), f1(found, truth), oracle.p, oracle.q)


@dataclass(frozen=True)
class Mean:
    value: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Mean":
        found = np.array(list(values), dtype=float)
        return cls(float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))))

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


@dataclass(frozen=True)
class Point:
    setting: Setting
    share: float
    entered: Mean
    f1: Mean


def point(population: Population, setting: Setting, share: float) -> Point:
    runs = [poisoned(population, setting, repetition) for repetition in range(RUNS)]
    return Point(setting, share, Mean.of(run.entered for run in runs), Mean.of(run.f1 for run in runs))


def curves(population: Population) -> list[Point]:
    """Measure every way, epsilon, attack and share; without fakes both attacks are the same."""
    points: list[Point] = []
    for (mechanism, oracle), epsilon in product(WAYS, EPSILONS):
        honest = point(population, Setting(mechanism, oracle, epsilon, "nobody", 0.0), 0.0)
        points.append(honest)
        for kind, share in product(ATTACKS, SHARES):
            setting = Setting(mechanism, oracle, epsilon, kind, share / (1 - share))
            points.append(point(population, setting, share))
        print(points[-1], flush=True)
    return points


def curve_table(points: list[Point]) -> list[str]:
    titles = " | ".join(f"{share:.2%}".replace(".00%", "%") for share in SHARES)
    lines = [f"| mechanism, oracle | ε | attack | no fakes | {titles} |", "|---|---|---|---|" + "---|" * len(SHARES)]
    for (mechanism, oracle), epsilon, kind in product(WAYS, EPSILONS, ATTACKS):
        of = [
            p
            for p in points
            if (p.setting.mechanism, p.setting.oracle, p.setting.epsilon) == (mechanism, oracle, epsilon)
        ]
        honest = next(p for p in of if p.share == 0)
        cells = [f"{p.entered.value:.1f}; {p.f1}" for p in of if p.setting.kind == kind]
        lines.append(f"| {mechanism}, {oracle} | {epsilon:g} | {kind} | {honest.f1} | " + " | ".join(cells) + " |")
    return lines


def formula_table(population: Population) -> list[str]:
    """Hold `fakes_needed` against the bench: one target, multiples of the formula's number of fakes."""
    kth, users = int(population.truth.users[K - 1]), population.roster.all_users
    titles = " | ".join(f"x {multiple:g}" for multiple in MULTIPLES)
    lines = [
        f"| mechanism, oracle | ε | fakes needed | share | {titles} |",
        "|---|---|---|---|" + "---|" * len(MULTIPLES),
    ]
    for (mechanism, oracle), epsilon in product(WAYS, EPSILONS):
        honest = poisoned(population, Setting(mechanism, oracle, epsilon, "nobody", 0.0, 1), 0)
        needed = fakes_needed(kth, honest.p, honest.q)
        cells = []
        for multiple in MULTIPLES:
            setting = Setting(mechanism, oracle, epsilon, "maximal gain", multiple * needed / users, 1)
            entered = [poisoned(population, setting, repetition).entered for repetition in range(RUNS)]
            cells.append(f"{np.mean(entered):.2f}")
        share = needed / (users + needed)
        lines.append(f"| {mechanism}, {oracle} | {epsilon:g} | {needed:,} | {share:.2%} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def draw(points: list[Point]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra

    figure = Figure(figsize=(13, 6.4), layout="constrained")
    axes = figure.subplots(2, len(WAYS), sharex=True, sharey="row")
    colours = dict(zip(EPSILONS, ("#c44e52", "#dd8452", "#4c72b0"), strict=True))
    for column, (mechanism, oracle) in enumerate(WAYS):
        for epsilon, kind in product(EPSILONS, ATTACKS):
            of = [p for p in points if p.setting == Setting(mechanism, oracle, epsilon, kind, p.setting.fakes_per_user)]
            style: dict[str, Any] = {
                "color": colours[epsilon], "linestyle": "-" if kind == "maximal gain" else ":", "marker": ".",
                "label": f"ε = {epsilon:g}, {kind}", "capsize": 2,
            }  # fmt: skip
            shares = [100 * p.share for p in of]
            for row, means in enumerate(([p.entered for p in of], [p.f1 for p in of])):
                axes[row, column].errorbar(shares, [m.value for m in means], [m.error for m in means], **style)
        axes[0, column].set_title(f"{mechanism}, {oracle}")
        axes[1, column].set_xscale("log")
        axes[1, column].set_xticks([100 * share for share in SHARES], [f"{100 * share:g}" for share in SHARES])
        axes[1, column].minorticks_off()
        axes[1, column].set_xlabel("share of fake devices, %")
    axes[0, 0].set_ylabel(f"targets in the top {K}, of {TARGETS}")
    axes[1, 0].set_ylabel("F1")
    axes[0, 0].legend(fontsize=7, loc="upper left")
    figure.savefig(FIGURE, dpi=110)


def main() -> None:
    federation = synthetic()
    population = Population(federation, codec_named(federation.encoding, Parameters(K, Epsilon(1.0)).bits))
    points = curves(population)
    draw(points)
    measured = [*curve_table(points), "", *formula_table(population)]
    head, _, rest = PAGE.read_text().partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n" + "\n".join(measured) + f"\n\n{END}{tail}")


if __name__ == "__main__":
    main()
