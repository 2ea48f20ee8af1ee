"""What the devices of a deployment are told of their groups: as its mechanism says, or as the algorithm does it."""

from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import DivideUsers, Member, Roster
from treetop.mechanisms.parameters import P
from treetop.mechanisms.protocol import Mechanism
from treetop.trie.user_groups import GroupSizes

NOMINAL_USERS = 3_603_600_000
"""A party to read weights from: divisible by 1 .. 16 and by every share in thousandths."""


def task_lengths(mechanism: Mechanism[P], parameters: P) -> tuple[int, ...]:
    """Return l_0 = 0 .. l_g: the bits of what the devices of every level report."""
    return mechanism.deployment.task_lengths(parameters) or mechanism.levels(parameters).lengths


def group_weights(mechanism: Mechanism[P], parameters: P) -> GroupSizes:
    """Return the weights by which a device draws its group: how a party divides a very large number of users.

    The second of two parties is asked: the first one may have fewer roles to give.
    """
    weights = mechanism.deployment.group_weights(parameters)
    if weights is not None:
        return weights
    roster = Roster((Member("first", NOMINAL_USERS), Member("second", NOMINAL_USERS)))
    request = next(mechanism.party(parameters, roster, roster.members[1]))
    if not isinstance(request, DivideUsers):
        raise InvalidInput("group_weights_missing", name=mechanism.name)
    return request.sizes


def group_sizes(mechanism: Mechanism[P], parameters: P, users: int) -> tuple[int, ...]:
    """Return how many reports each group of a party is expected to have: the crowds that reports hide in.

    Where every report draws by itself what it is about, names and chunks together are one group.
    """
    if mechanism.reports_names:
        return (users,)
    weights = group_weights(mechanism, parameters).values()
    return tuple(max(users * weight // sum(weights), 1) for weight in weights)
