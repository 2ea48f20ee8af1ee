"""The levels of a mechanism: the bits of its candidates, and how many of them there can be."""

from dataclasses import dataclass
from itertools import pairwise

from treetop.errors import InvalidInput
from treetop.trie.support import MAX_CANDIDATES


@dataclass(frozen=True)
class Levels:
    """What is known of every level's list of candidates before anybody is asked."""

    lengths: tuple[int, ...]
    """l_0 = 0 .. l_g: the bits that the candidates of every level have."""
    max_candidates: tuple[int, ...]
    """The longest list of every level."""
    max_kept: int | None = None
    """Prefixes that a level keeps at most: no list of candidates grows from more. None: not known."""

    @classmethod
    def growing(cls, lengths: tuple[int, ...], max_kept: int | None = None) -> "Levels":
        """Return levels whose candidates are all children of the prefixes kept before.

        Settings under which a list could not be counted are refused.
        """
        kept = 1
        longest: list[int] = []
        for level, (shorter, longer) in enumerate(pairwise(lengths), start=1):
            candidates = kept << (longer - shorter)
            if max_kept is None and level > 1:
                candidates = min(candidates, MAX_CANDIDATES)
            if candidates > MAX_CANDIDATES:
                raise InvalidInput(
                    "too_many_candidates",
                    max_candidates=MAX_CANDIDATES,
                    candidates=candidates,
                    level=level,
                    shorter=longer - shorter,
                    kept=kept,
                )
            longest.append(candidates)
            kept = candidates if max_kept is None else min(candidates, max_kept)
        return cls(lengths, tuple(longest), max_kept)

    def __len__(self) -> int:
        """Return g."""
        return len(self.lengths) - 1
