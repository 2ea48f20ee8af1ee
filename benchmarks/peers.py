"""The peers through their public functions; a peer that does not load or run is a line with its error."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.measuring import Failed, Row, best_of, times_as_fast

EPSILON = 2.0


def compared(what: str, seconds: float, peer: Callable[[], float], at_least: float | None = None) -> Row:
    """Return how many times as fast ours is; the peer gives its seconds for the same work."""
    try:
        return times_as_fast(what, seconds, peer(), at_least)
    except Exception as error:  # a peer may fail in any way
        return Failed(what, f"{type(error).__name__}: {error}")


def pure_ldp_client(kind: str, size: int) -> Any:
    oracles = import_module("pure_ldp.frequency_oracles")
    options = {"LH": {"use_olh": True}, "UE": {"use_oue": True}, "DE": {}}[kind]
    return getattr(oracles, f"{kind}Client")(EPSILON, size, index_mapper=int, **options)


def pure_ldp_server(kind: str, size: int) -> Any:
    oracles = import_module("pure_ldp.frequency_oracles")
    options = {"LH": {"use_olh": True}, "UE": {"use_oue": True}, "DE": {}}[kind]
    return getattr(oracles, f"{kind}Server")(EPSILON, size, index_mapper=int, **options)


def pure_ldp_counting(kind: str, size: int, reports: int) -> float:
    """Return pure-ldp's seconds for one report, over so many of them."""
    client, server = pure_ldp_client(kind, size), pure_ldp_server(kind, size)
    privatised = [client.privatise(value % size) for value in range(reports)]

    def count() -> None:
        for report in privatised:
            server.aggregate(report)

    return best_of(3, count) / reports


def pure_ldp_reporting(kind: str, size: int, reports: int) -> float:
    """Return pure-ldp's seconds to make one report."""
    client = pure_ldp_client(kind, size)

    def report() -> None:
        for value in range(reports):
            client.privatise(value % size)

    return best_of(3, report) / reports


def multi_freq(kind: str) -> Any:
    return import_module(f"multi_freq_ldpy.pure_frequency_oracles.{kind}")


def multi_freq_counting(kind: str, size: int, reports: int) -> float:
    """Return multi-freq-ldpy's seconds for one report, over so many of them."""
    module = multi_freq(kind)
    client, aggregate = getattr(module, f"{kind}_Client"), getattr(module, f"{kind}_Aggregator_MI")
    given = [client(value % size, size, EPSILON) for value in range(reports)]
    arguments = (given, EPSILON) if kind == "UE" else (given, size, EPSILON)
    return best_of(3, lambda: aggregate(*arguments)) / reports


def multi_freq_reporting(kind: str, size: int, reports: int) -> float:
    """Return multi-freq-ldpy's seconds to make one report, its compilation not counted."""
    client = getattr(multi_freq(kind), f"{kind}_Client")
    client(0, size, EPSILON)

    def report() -> None:
        for value in range(reports):
            client(value % size, size, EPSILON)

    return best_of(3, report) / reports
