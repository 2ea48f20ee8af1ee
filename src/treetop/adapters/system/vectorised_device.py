"""Many device reports at once, with the operating system's randomness and a device's own thresholds."""

from typing import Any

import numpy as np

from treetop.adapters.system.host import SystemEntropy
from treetop.errors import InvalidInput
from treetop.oracles.protocol import Oracle
from treetop.oracles.random_words import EntropyWords
from treetop.oracles.registry import find_oracle
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import Entropy


def perturb(oracle: str | Oracle, value: int, d: int, epsilon: float | str, reports: int) -> Any:
    """Return that many independent device reports of one value, drawn with operating-system randomness.

    Slots 0 .. d - 2 are candidates and d - 1 is the dummy. k-RR gives an array of slots, OUE a matrix of
    reports x d bits, OLH seeds and buckets, with the value hashed as a key.
    """
    if reports < 0:
        raise InvalidInput("reports_negative", reports=reports)
    return perturbed(find_oracle(oracle), value, d, Budget(str(epsilon)), reports, entropy=SystemEntropy())


def perturbed(oracle: Oracle, value: int, d: int, budget: Budget, reports: int, *, entropy: Entropy) -> Any:
    """Run by simulated devices: as `perturb`, with the randomness passed in."""
    oracle.form(d)  # refuses a domain that is too small or too large
    if not 0 <= value < d:
        raise InvalidInput("value_out_of_range", d=d - 1, value=value)
    counting = oracle.over(Epsilon(budget.text), d)
    values = np.broadcast_to(np.array(value, dtype=np.uint32 if oracle.listed else np.uint64), reports)
    return counting.as_reports(counting.perturb(values, EntropyWords(entropy)))
