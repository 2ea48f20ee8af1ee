import pytest
from scipy.stats import beta

from treetop.audit.confidence import binomial_lower, binomial_upper


@pytest.mark.parametrize("risk", [0.05, 1e-3, 1e-6])
@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (412, 1000), (999, 1000),
     (148_849, 10**6), (649_000, 10**6), (7, 10**7)],
)  # fmt: skip
def test_the_bounds_are_those_of_clopper_and_pearson(successes: int, trials: int, risk: float) -> None:
    lower = beta.ppf(risk, successes, trials - successes + 1) if successes else 0
    upper = beta.ppf(1 - risk, successes + 1, trials - successes) if successes < trials else 1
    assert binomial_lower(successes, trials, risk) == pytest.approx(lower, rel=1e-8, abs=1e-15)
    assert binomial_upper(successes, trials, risk) == pytest.approx(upper, rel=1e-8)
