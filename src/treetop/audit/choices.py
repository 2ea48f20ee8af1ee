"""Every way that a run with random steps can go, one after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Chosen = TypeVar("Chosen")
Law = Sequence[Fraction]
"""How likely a choice is for each of the values that the target user may hold."""


class Choices:
    """One run: takes the choices of a script, then the first ones, and notes what else was possible."""

    def __init__(self, script: Sequence[int], values: int) -> None:
        self._script = script
        self.taken: list[int] = []
        self.possible: list[int] = []
        self.probabilities: list[Fraction] = [Fraction(1)] * values

    def choose(self, options: Mapping[Chosen, Law]) -> Chosen:
        """Take one of the options; the run's probabilities are multiplied by its own."""
        step = len(self.taken)
        place = self._script[step] if step < len(self._script) else 0
        self.taken.append(place)
        self.possible.append(len(options))
        chosen, law = list(options.items())[place]
        self.probabilities = [before * now for before, now in zip(self.probabilities, law, strict=True)]
        return chosen


@dataclass(frozen=True)
class Transcript:
    """All that everybody but the users ever sees of one run, with its probability for every value of the target."""

    taken: tuple[int, ...]
    probabilities: tuple[Fraction, ...]


def every_transcript(run: Callable[[Choices], object], values: int) -> Iterator[Transcript]:
    """Yield all transcripts of a run, in lexicographic order of choices."""
    script: list[int] | None = []
    while script is not None:
        choices = Choices(script, values)
        run(choices)
        yield Transcript(tuple(choices.taken), tuple(choices.probabilities))
        script = _next(choices)


def _next(choices: Choices) -> list[int] | None:
    for step in reversed(range(len(choices.taken))):
        if choices.taken[step] + 1 < choices.possible[step]:
            return [*choices.taken[:step], choices.taken[step] + 1]
    return None
