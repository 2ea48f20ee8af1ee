"""Invented words on no list, by Panorama and by Canopy: `python -m benchmarks.syllable_words [RUNS]`.

Words of two to four syllables, each a consonant and a vowel, that no list of words and no model of a language knows:
20,000 of them, the r-th held by a share of 1 / r, among three equal parties. k = 10, exact simulation, every run with
words and a key of its own.
"""

import sys

import numpy as np

from treetop.datasets.federation import Federation, federation_from_mapping
from treetop.mechanisms.query import Query
from treetop.query.find import score
from treetop.query.preparation import prepared
from treetop.simulation.run import run

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
WORDS, PARTIES, RUNS, K = 20_000, 3, 12, 10
USERS = (100_000, 300_000, 1_000_000)
EPSILONS = (1.0, 2.0, 4.0)


def invented(users: int, seed: int) -> Federation:
    randomness, words = np.random.default_rng(seed), dict[str, None]()
    while len(words) < WORDS:
        syllables = randomness.integers(2, 5)
        ones, twos = (randomness.integers(len(letters), size=syllables) for letters in (CONSONANTS, VOWELS))
        words["".join(CONSONANTS[one] + VOWELS[two] for one, two in zip(ones, twos, strict=True))] = None
    shares = 1 / np.arange(1, WORDS + 1)
    held = (randomness.multinomial(users // PARTIES, shares / shares.sum()) for _ in range(PARTIES))
    return federation_from_mapping(
        {
            f"p{place}": {word: int(n) for word, n in zip(words, party, strict=True) if n}
            for place, party in enumerate(held)
        }
    )


def f1(mechanism: str, users: int, epsilon: float, seed: int) -> float:
    ready = prepared(invented(users, seed), Query(K, epsilon, mechanism), seed)
    outcome = run(ready.mechanism, ready.parameters, ready.population, seed=seed)
    return score(outcome, ready.population, K).f1


def main(runs: int) -> None:
    print(
        "| users | mechanism | "
        + " | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS)
        + " |\n|---|---|---|---|---|"
    )
    for users in USERS:
        for mechanism in ("panorama", "canopy"):
            cells = []
            for epsilon in EPSILONS:
                scores = np.array([f1(mechanism, users, epsilon, seed) for seed in range(1, runs + 1)])
                cells.append(f"{scores.mean():.3f} ± {scores.std(ddof=1) / np.sqrt(runs):.3f}")
            print(f"| {users:,} | {mechanism} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
