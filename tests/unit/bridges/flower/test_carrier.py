"""Calls travel to the node whose key the settings name, and answers are believed from that node alone."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from treetop_flower.carrier import LOOK_SECONDS, STANDS_STILL_SECONDS, Carrier, Returned
from treetop_flower.gateway import Gateway, NoAnswer
from treetop_flower.wire import Answer, Call

KEYS = {"north": b"key of north", "south": b"key of south"}
OUTCOME = Call("outcome", "ab" * 32, 1, "Bearer k")


class FakeLink:
    """Flower, with nodes that answer when the test says so."""

    def __init__(self) -> None:
        self.online: dict[bytes, int] = {b"key of north": 11, b"key of south": 22, b"key of a stranger": 33}
        self.sent: list[tuple[int, Call, float]] = []
        self.back: list[Returned] = []
        self.takes = True

    def nodes(self) -> Mapping[bytes, int]:
        return dict(self.online)

    def send(self, node: int, call: Call, seconds: float) -> str | None:
        self.sent.append((node, call, seconds))
        return f"m{len(self.sent)}" if self.takes else None

    def returned(self, messages: Collection[str]) -> Sequence[Returned]:
        found = [each for each in self.back if each.message in messages]
        self.back = [each for each in self.back if each.message not in messages]
        return found


class Case:
    def __init__(self) -> None:
        self.now = 100.0
        self.link = FakeLink()
        self.gateway = Gateway(frozenset(KEYS), 8.0, lambda: self.now)
        self.carrier = Carrier(self.gateway, self.link, KEYS, 600.0, lambda: self.now)
        self.carrier.turn()

    def ask(self, party: str = "north") -> int | str:
        try:
            return self.gateway.ask(party, OUTCOME).status
        except NoAnswer as why:
            return str(why)


@pytest.fixture
def case() -> Case:
    return Case()


def test_a_call_goes_to_the_node_of_the_partys_key_and_comes_back(case: Case) -> None:
    case.ask("south")
    case.carrier.turn()
    assert case.link.sent == [(22, OUTCOME, 600.0)]
    case.link.back = [Returned("m1", 22, Answer(200, b"x"))]
    case.carrier.turn()
    assert case.gateway.ask("south", OUTCOME) == Answer(200, b"x")
    assert len(case.link.sent) == 1


def test_an_answer_of_another_node_is_not_believed(case: Case) -> None:
    case.ask()
    case.carrier.turn()
    case.link.back = [Returned("m1", 33, Answer(200, b"forged"))]
    case.carrier.turn()
    case.ask()
    case.carrier.turn()
    assert [node for node, *_ in case.link.sent] == [11, 11]
    case.link.back = [Returned("m2", 11, Answer(200, b"genuine"))]
    case.carrier.turn()
    assert case.gateway.ask("north", OUTCOME).body == b"genuine"


def test_a_node_that_came_back_under_another_number_is_found_by_its_key(case: Case) -> None:
    case.link.online[KEYS["north"]] = 44
    case.now += LOOK_SECONDS
    case.ask()
    case.carrier.turn()
    assert case.link.sent[0][0] == 44


def test_a_party_whose_key_is_not_connected_is_away(case: Case) -> None:
    del case.link.online[KEYS["north"]]
    case.now += LOOK_SECONDS
    case.carrier.turn()
    assert case.ask() == "its node is not connected"
    case.carrier.turn()
    assert case.link.sent == []


@pytest.mark.parametrize("problem", ["Flower's error 3", ""])
def test_a_message_that_failed_is_sent_again_when_the_server_asks(case: Case, problem: str) -> None:
    case.ask()
    case.carrier.turn()
    case.link.back = [Returned("m1", 11, None, problem)]
    case.carrier.turn()
    case.carrier.turn()
    assert len(case.link.sent) == 1
    case.ask()
    case.carrier.turn()
    assert len(case.link.sent) == 2


def test_a_message_that_flower_does_not_take_or_does_not_bring_back_is_given_up(case: Case) -> None:
    case.link.takes = False
    case.ask()
    case.carrier.turn()
    case.link.takes = True
    case.ask()
    case.carrier.turn()
    case.now += 601
    case.carrier.turn()
    case.ask()
    case.carrier.turn()
    assert len(case.link.sent) == 3
    case.link.back = [Returned("m2", 11, Answer(200, b"late"))]  # nobody knows of it any more
    case.carrier.turn()
    assert case.ask() != 200


def test_a_carrier_that_flower_keeps_waiting_stands_still(case: Case) -> None:
    assert not case.carrier.stands_still
    case.now += STANDS_STILL_SECONDS + 1
    assert case.carrier.stands_still
    case.carrier.turn()
    assert not case.carrier.stands_still
