from treetop.federation.server.result import joined_levels


def test_what_is_said_of_several_levels_is_said_once() -> None:
    notes = [
        "level 7 not pruned: too few", "its groups are odd", "level 8 not pruned: too few", "level 8 not pruned: short",
        "level 12 not pruned: too few", "level", "level 9",
    ]  # fmt: skip
    assert joined_levels(notes) == [
        "levels 7, 8, 12 not pruned: too few", "its groups are odd", "level 8 not pruned: short", "level", "level 9",
    ]  # fmt: skip
