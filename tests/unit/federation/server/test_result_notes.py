from treetop.federation.server.result import join_levels
from treetop.wording import Note


def left_out(*levels: int, reports: int = 3) -> Note:
    return Note("group_left_out", levels=levels, role="estimate", reports=reports, least=500)


def test_notes_on_several_levels_become_one() -> None:
    biased = Note("groups_biased")
    notes = [left_out(7), biased, left_out(8), left_out(8, reports=4), left_out(12), biased]
    assert join_levels(notes) == [left_out(7, 8, 12), biased, left_out(8, reports=4)]
