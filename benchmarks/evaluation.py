"""The grid of the paper's main figures on SYN, as a share of three minutes on two cores."""

from time import perf_counter

from benchmarks.measuring import Measured
from treetop.datasets.synthetic import synthetic
from treetop.evaluation.evaluate import evaluate

TITLE = "The grid of the paper's main figures"
SECONDS = 180.0


def measure() -> list[Measured]:
    begin = perf_counter()
    evaluate(
        synthetic(),
        mechanisms=["fedpem", "gtf", "tap", "taps"],
        epsilons=[1, 2, 3, 4, 5],
        ks=[10, 20, 40],
        oracles=["krr"],
        repeats=50,
        workers=2,
        seed=1,
    )
    seconds = perf_counter() - begin
    what = "4 mechanisms x 5 epsilons x 3 ks x 50 runs on SYN, wall / 3 minutes"
    return [Measured(what, seconds / SECONDS, 1, seconds, SECONDS)]
