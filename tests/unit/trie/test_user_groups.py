from treetop.trie.user_groups import (
    Group,
    Role,
    equal_groups,
    even_split,
    floor_of_share,
    ramped_groups,
    two_phase_groups,
    with_validation_sets,
)


def test_shares_are_taken_as_written() -> None:
    assert floor_of_share(0.29, 100) == 29  # 0.29 * 100 is 28.999999999999996
    assert floor_of_share(0.25, 24) == 6


def test_an_even_split_differs_by_one_at_most() -> None:
    assert even_split(11, 4) == [3, 3, 3, 2]


def test_fedpem_has_equal_groups() -> None:
    assert list(equal_groups(10, 4).values()) == [3, 3, 2, 2]
    assert list(equal_groups(10, 4)) == [Group(1), Group(2), Group(3), Group(4)]


def test_tap_gives_a_tenth_to_phase_one() -> None:
    assert list(two_phase_groups(1000, 8, 2, 0.1).values()) == [50, 50, 150, 150, 150, 150, 150, 150]


def test_without_shared_levels_there_is_no_phase_one() -> None:
    assert list(two_phase_groups(90, 3, 0, 0.1).values()) == [30, 30, 30]


def test_taps_takes_two_validation_sets_out_of_a_pruned_level() -> None:
    sizes = with_validation_sets({Group(1): 100, Group(2): 109}, [2], 0.1)
    assert sizes == {
        Group(1): 100,
        Group(2, Role.VALIDATE_INFREQUENT): 10,
        Group(2, Role.VALIDATE_FREQUENT): 10,
        Group(2): 89,
    }


def test_gtf_groups_by_hand() -> None:
    # n = 100, g = 4: n / 2g = 12.5, i n / (g (g + 1)) = 5 i: 12, 17, 22, 27 and the remainder 22
    assert list(ramped_groups(100, 4).values()) == [12, 17, 22, 49]


def test_a_group_says_which_it_is() -> None:
    assert str(Group(3, Role.VALIDATE_FREQUENT)) == "the group of level 3 (validate frequent)"
