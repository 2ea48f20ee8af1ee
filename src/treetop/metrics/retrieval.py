"""How much of the truth was found."""

from collections.abc import Iterable, Sequence


def f1(found: Sequence[int], truth: Sequence[int]) -> float:
    """Return the harmonic mean of precision |found & truth| / |found| and recall |found & truth| / |truth|."""
    hits = len(set(found) & set(truth))
    return 2 * hits / (len(found) + len(truth))


def ncr(found: Sequence[int], truth: Sequence[int]) -> float:
    """Return the normalized cumulative rank: the best of k true items scores k, the k-th scores 1."""
    k = len(truth)
    quality = {item: k - rank for rank, item in enumerate(truth)}
    return sum(quality.get(item, 0) for item in set(found)) / (k * (k + 1) / 2)


def local_recall(found_by_party: Iterable[Sequence[int]], truth: Sequence[int]) -> float:
    """Return the share of the global top k inside a party's local top k, averaged over parties."""
    shares = [len(set(found[: len(truth)]) & set(truth)) / len(truth) for found in found_by_party]
    return sum(shares) / len(shares)
