"""What an epsilon means, as docs/explanation/epsilon.md derives it: odds, beliefs, 100 people, deployed systems."""

from dataclasses import asdict, dataclass
from math import exp
from typing import Any

from treetop.federation.device.ledger import Caps
from treetop.privacy.epsilon import Epsilon

PEOPLE = 100
PRIORS = (0.001, 0.01, 0.1, 0.5)
STRENGTHS = (
    (1.0, "strong: a report hardly changes what anybody can believe about one person"),
    (2.0, "fair: a report says something about its sender, and every single one can be denied"),
    (4.0, "usual where people are asked one by one, and weaker than it looks: a report is often the truth"),
    (8.0, "weak: whoever sees a report of a short list nearly knows the answer; do not ask twice"),
)
NO_STRENGTH = "next to nothing: a report of a short list is as good as the answer itself"


@dataclass(frozen=True)
class Deployed:
    """The promise of a deployed system."""

    who: str
    epsilon: str
    what: str


DEPLOYED = (
    Deployed("Apple, types of health data", "2 a day", "local: the device adds the noise"),
    Deployed("Apple, emoji", "4 a day", "local"),
    Deployed("Apple, hints when looking up", "8 a day", "local: two reports of 4"),
    Deployed("Apple, new words typed", "16 a day", "local: two reports of 8"),
    Deployed("US Census 2020, redistricting", "19.61 once", "central: an office that sees all answers adds the noise"),
)
"""As their operators state it; docs/explanation/epsilon.md has the sources."""


@dataclass(frozen=True)
class Meaning:
    """An epsilon in words and numbers."""

    epsilon: float
    odds: float
    """The most by which a report may be likelier for one item than for another."""
    truthful: int
    """Of 100 people who answer yes or no by randomised response, how many tell the truth."""
    beliefs: tuple[tuple[float, float], ...]
    """An observer's belief about a person before her report, and the strongest one after it."""
    strength: str
    per_task: float
    """The most that devices accept for one task unless their owner changed it."""
    lifetime: float
    """The same for all tasks together."""
    deployed: tuple[Deployed, ...] = DEPLOYED

    def to_json(self) -> dict[str, Any]:
        """Return what `treetop explain --json` prints."""
        return asdict(self)


def meaning_of(epsilon: float | str) -> Meaning:
    """Return the meaning of an epsilon.

    >>> from treetop.planning.meaning import meaning_of
    >>> meaning_of(2).truthful, round(meaning_of(2).odds, 2)
    (88, 7.39)
    """
    known = Epsilon(epsilon)
    odds = exp(known)
    caps = Caps()
    # Bayes' rule at its worst: the report multiplies the odds of the prior by e^epsilon.
    beliefs = tuple((prior, odds * prior / (odds * prior + 1 - prior)) for prior in PRIORS)
    strength = next((words for limit, words in STRENGTHS if known <= limit), NO_STRENGTH)
    # Randomised response between yes and no, which is truthful with probability e^epsilon / (1 + e^epsilon).
    truthful = round(PEOPLE * odds / (odds + 1))
    return Meaning(float(known), odds, truthful, beliefs, strength, float(caps.per_task), float(caps.lifetime))
