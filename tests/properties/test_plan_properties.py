"""What a plan says is needed for a frequency finds just that frequency."""

from hypothesis import given, settings
from hypothesis import strategies as st

from treetop.planning.plan import LARGEST_EPSILON, plan

CLOSE = 1.001


@given(
    users=st.lists(st.integers(1_000, 1_000_000), min_size=1, max_size=3),
    size=st.sampled_from([3, 5, 14, 100, 10_000]),
    k=st.integers(1, 3),
    epsilon=st.floats(0.5, 4),
    wished=st.floats(0.0005, 0.3),
)
@settings(max_examples=12, deadline=None)
def test_the_needed_epsilon_and_users_are_the_least_that_find_the_wished_frequency(
    users: list[int], size: int, k: int, epsilon: float, wished: float
) -> None:
    for place, row in enumerate(plan(users, k=k, epsilon=epsilon, catalogue_size=size, frequency=wished).rows[:2]):

        def found(users: list[int], epsilon: float, place: int = place) -> float:
            again = plan(users, k=k, epsilon=epsilon, catalogue_size=size).rows[place].found
            return 1.0 if again is None else again

        if row.epsilon_needed:
            assert found(users, row.epsilon_needed) <= wished * CLOSE
            assert found(users, row.epsilon_needed * 0.99) >= wished / CLOSE
        elif row.epsilon_needed is None:
            assert found(users, LARGEST_EPSILON) >= wished / CLOSE
        if row.users_needed is not None and row.epsilon_needed != 0 and row.users_needed >= 1000 * len(users):
            factor = row.users_needed / sum(users)
            assert found([round(n * factor) for n in users], epsilon) <= wished * 1.002
            assert found([round(n * factor * 0.99) for n in users], epsilon) >= wished / 1.002
