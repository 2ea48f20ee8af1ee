"""What one report gives away, as a picture of a hundred people; the same as the survey page draws in a browser."""

from fractions import Fraction
from math import ceil

from treetop.privacy.epsilon import Epsilon
from treetop.web.drawings.svg import Element, Picture, drawing, shape

PEOPLE = 100
PER_ROW = 20
WIDTH = 15
HEIGHT = 24


def right_guesses(epsilon: Epsilon) -> int:
    """Return how many of 100 guesses between two items, as likely as each other, a report makes right at most.

    The probability is e^epsilon / (1 + e^epsilon) at most, whatever the oracle; rounded up, and up to 100.
    """
    odds = epsilon.odds_below
    return ceil(Fraction(100) * odds / (odds + 1))


def guesses_sentence(epsilon: Epsilon, held: str = "item") -> str:
    """Say it in words to somebody who holds an item, or a set of items."""
    return (
        f"Whoever sees a report and guesses between your {held} and any other is right at most "
        f"{right_guesses(epsilon)} times in 100, where a coin is right 50 times."
    )


def people(right: int) -> Picture:
    """Draw a hundred guesses: 50 right by chance, some more by the report, and the others wrong."""

    def person(place: int) -> Element:
        kind = "coin" if place < PEOPLE // 2 else "report" if place < right else "wrong"
        return shape(
            "g",
            shape("circle", cx=7, cy=5, r=3.4),
            shape("path", d="M1.8 20.5v-5.2a5.2 5.2 0 0 1 10.4 0v5.2z"),
            transform=f"translate({place % PER_ROW * WIDTH} {place // PER_ROW * HEIGHT})",
            class_=kind,
        )

    described = (
        f"Of 100 guesses 50 are right by chance, {right - 50} more at most thanks to the report, and "
        f"{100 - right} are wrong."
    )
    figures = [person(place) for place in range(PEOPLE)]
    return drawing(PER_ROW * WIDTH - 1, PEOPLE // PER_ROW * HEIGHT - 3, described, *figures)
