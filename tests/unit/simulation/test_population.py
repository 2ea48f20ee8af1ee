import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.populations import population
from tests.support.refusals import refused

from treetop.datasets.federation import Federation, PartyItems, federation_from_mapping
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput
from treetop.mechanisms.taps import Taps, TapsParameters
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import run
from treetop.wording import Note


def test_a_party_is_sorted_codes_and_running_sums() -> None:
    party = population({"a": {"5": 2, "1": 3, "x": 4}}).parties[0]
    assert party.codes.tolist() == [1, 5]
    assert party.users_before.tolist() == [0, 3, 5, 9]
    assert (party.users, party.counts.tolist()) == (9, [3, 2, 4])


@pytest.mark.parametrize("bits", [8, 64, 100])
def test_prefixes_are_found_by_binary_search(bits: int) -> None:
    top = 1 << (bits - 1)
    party = population({"a": {"0": 1, "1": 1, str(top): 1, str(2 * top - 1): 1}}, bits=bits).parties[0]
    starts, ends = party.places(np.array([0, 1], dtype=party.codes.dtype), 1)
    assert (starts.tolist(), ends.tolist()) == ([0, 2], [2, 4])
    starts, ends = party.places(np.array([1, 2 * top - 1], dtype=party.codes.dtype), bits)
    assert (starts.tolist(), ends.tolist()) == ([1, 3], [2, 4])


def test_the_truth_is_summed_over_parties_with_ties_to_the_smaller_code() -> None:
    truth = population({"a": {"5": 2, "1": 3}, "b": {"5": 1, "9": 7, "zz": 99}}).truth
    assert truth.codes.tolist() == [9, 1, 5]
    assert truth.users.tolist() == [7, 3, 3]


def test_true_counts_of_any_codes() -> None:
    crowd = population({"a": {"5": 2}})
    assert crowd.true_counts(np.array([5, 6], dtype=np.uint64)) == [2, 0]


def test_what_an_encoding_loses_is_said() -> None:
    crowd = population({"a": {"The": 1, "the": 2, "abcdefghijkl": 1, "abcdefghijkm": 1, "c++": 5}}, 48, "words")
    assert crowd.notes == (
        Note("items_unfit", items=1, users=5, encoding="the encoding 'words' with 48 bits", example="c++"),
        Note("items_shortened", items=2),
        Note("items_share_codes", items=2),
    )
    assert crowd.show(crowd.truth.codes) == ["the", "abcdefghij"]


def test_an_encoding_that_fits_nothing_is_refused() -> None:
    with refused("no_item_fits", InvalidInput, title="the encoding 'words' with 48 bits", items="17"):
        population({"a": {"17": 1}}, 48, "words")


def test_hashes_are_read_back_from_the_federations_own_items() -> None:
    crowd = population({"a": {"héllo wörld": 3, "x": 1}}, 24, "hashed")
    assert crowd.show(crowd.truth.codes) == ["héllo wörld", "x"]
    assert crowd.show(np.array([12345], dtype=np.uint64)) == ["#003039"]


def test_k_is_at_most_the_number_of_items() -> None:
    population({"a": {"1": 1, "2": 1}}).check_k(2)
    with refused("k_too_large", InvalidInput, distinct=2, others="", k=3):
        population({"a": {"1": 1, "2": 1}}).check_k(3)


def test_a_party_of_10_9_users_is_refused_with_the_limit() -> None:
    Population(federation_from_mapping({"a": {"1": 10**9 - 1}}), codec_named("ids", 48))
    with refused("party_too_large", InvalidInput, name="a", total=1000000000, users_below=1000000000):
        Population(federation_from_mapping({"a": {"1": 10**9}}), codec_named("ids", 48))


@pytest.mark.slow
def test_a_billion_users_over_a_million_items_take_less_than_2_gigabytes() -> None:
    """In a process of its own: the highest memory of this one would count what other tests took."""
    program = "from tests.unit.simulation.test_population import print_memory_of_a_huge_run as p; p()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    found, kilobytes = map(int, done.stdout.split())
    assert found == 10
    assert kilobytes < 2 * 1024**2


def print_memory_of_a_huge_run() -> None:
    items = [str(item) for item in range(10**6)]
    weights = 1 / np.arange(1, 10**6 + 1)
    parties = tuple(
        PartyItems(
            f"p{place}",
            np.random.default_rng(place).permutation(10**6),
            1 + np.random.default_rng(place).multinomial(998_000_000, weights / weights.sum()),
        )
        for place in range(3)
    )
    crowd = Population(Federation("huge", items, parties), codec_named("ids", 48))
    outcome = run(Taps(), TapsParameters(10, Epsilon(4)), crowd, seed=1)
    status = Path(
        "/proc/self/status"
    ).read_text()  # ru_maxrss would remember what the process that started this one took
    print(len(outcome.ranking), status.partition("VmHWM:")[2].split()[0])
