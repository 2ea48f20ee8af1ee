import numpy as np
from tests.support.refusals import refused

from treetop.datasets.synthetic import GROUP_SIZE, IDS_BELOW, ROWS, synthetic
from treetop.errors import InvalidInput


def test_syn_has_the_rows_of_the_papers_table() -> None:
    syn = synthetic()
    assert [(party.total, len(party.items)) for party in syn.parties] == [(row.users, row.items) for row in ROWS]
    assert syn.users == 780_000
    assert syn.encoding == "ids"
    assert len(set(syn.items)) == 6 * GROUP_SIZE
    assert all(0 <= int(item) < IDS_BELOW for item in syn.items)


def test_every_item_of_a_party_has_a_user_and_is_there_once() -> None:
    for party in synthetic(3).parties:
        assert party.users.min() >= 1
        assert len(np.unique(party.items)) == len(party.items)


def test_the_first_ids_of_a_group_are_taken() -> None:
    for party in synthetic(3).parties:
        for group in range(6):
            inside = np.sort(party.items[party.items // GROUP_SIZE == group]) % GROUP_SIZE
            np.testing.assert_array_equal(inside, np.arange(len(inside)))


def test_zipf_and_poisson_heads() -> None:
    syn = synthetic()
    zipf = np.sort(syn.parties[2].users)[::-1]  # alpha = 1.1 over 6,688 items: rank 1 holds 1 / sum r^-1.1
    expected = 1 + (120_000 - 6_688) / (np.arange(1, 6_689) ** -1.1).sum()
    assert abs(zipf[0] - expected) < 7 * np.sqrt(expected)
    poisson = np.sort(syn.parties[5].users)[::-1]  # lambda = 4: the mode has probability 0.195
    assert abs(poisson[0] - 0.1954 * (60_000 - 4_429)) < 7 * np.sqrt(0.2 * 60_000)


def test_the_seed_decides() -> None:
    assert synthetic(1).items == synthetic(1).items
    assert synthetic(1).items != synthetic(2).items


def test_a_large_concentration_splits_evenly_and_a_small_one_does_not() -> None:
    def common(concentration: float) -> int:
        parties = synthetic(1, concentration).parties
        return len(set.intersection(*(set(party.items.tolist()) for party in parties)))

    assert common(1000.0) > common(0.5)
    with refused("concentration_invalid", InvalidInput, concentration=0):
        synthetic(1, 0)
