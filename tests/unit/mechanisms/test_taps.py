"""What TAPS sends in a deployment, and what of it a party may use."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from treetop.encoding.bit_strings import code_array
from treetop.errors import PeerViolation
from treetop.mechanisms.dialogue import Member, Roster
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.taps import Taps, TapsParameters
from treetop.mechanisms.wire.taps import Continue, encode_lists
from treetop.privacy.epsilon import Epsilon
from treetop.trie.consensus_pruning import PruningCandidates
from treetop.trie.user_groups import VALIDATING, Group
from treetop.wording import Note

K = 2
ROSTER = Roster((Member("a", 900), Member("b", 800), Member("c", 700)))
LISTS = PruningCandidates(4, code_array([4, 5, 6, 7], 8), code_array([7, 6, 5, 4], 8), np.array([0.1, 0.2, 0.3, 0.4]))
SHARED = code_array([1, 3], 8)


def facts(party: int = 1, messages: int = 1, **settings: object) -> PublicFacts[TapsParameters]:
    parameters = TapsParameters(K, Epsilon(2), bits=8, levels=4).with_settings(settings)
    return PublicFacts(
        parameters, ROSTER, ROSTER.members[party], parameters.lengths, 100, dict.fromkeys(range(1, 5), 900),
        messages=[None] * messages,
    )  # fmt: skip


def test_the_question_for_a_shallow_trie_says_nothing_and_the_next_message_something() -> None:
    assert Taps().wire.decode_message(facts(messages=0), None) is None
    with pytest.raises(PeerViolation, match="message: expected none"):
        Taps().wire.decode_message(facts(messages=0), Taps().wire.encode_message(Continue(SHARED)))
    with pytest.raises(PeerViolation, match="message: expected an object, found NoneType"):
        Taps().wire.decode_message(facts(messages=1), None)
    alone = facts(messages=0, shared_trie=False)
    assert Taps().wire.decode_message(alone, Taps().wire.encode_message(Continue(None))) == Continue(None)


def sent(content: dict[str, Any], **changed: Any) -> PublicFacts[TapsParameters]:
    known = facts(0, messages=1)
    known.messages.append(Continue(SHARED))
    lists = {**encode_lists({2: LISTS})["2"], **changed}
    counted = {"prefixes": [], "support": [], "reports": 0, "domain": 5}
    found = Taps().wire.decode_findings(known, {"counted": counted, "pruning": {**content, "2": lists}})
    assert list(found.D) == [2]
    return known


def test_lists_lie_below_the_shared_trie() -> None:
    sent({})
    with pytest.raises(PeerViolation, match="those that the shared trie leads to"):
        sent({}, infrequent=["4", "5", "6", "0"])
    with pytest.raises(PeerViolation, match="fields of pruning lists"):
        sent({"1": {}})


def test_the_last_party_has_nobody_to_send_lists_to() -> None:
    known = facts(2, messages=2)
    counted = {"prefixes": [], "support": [], "reports": 0, "domain": 5}
    assert Taps().wire.decode_findings(known, {"counted": counted, "pruning": {}}).D == {}
    with pytest.raises(PeerViolation, match="fields of pruning lists"):
        Taps().wire.decode_findings(known, {"counted": counted, "pruning": encode_lists({2: LISTS})})


def test_a_party_that_prunes_with_anothers_list_is_named() -> None:
    message = Continue(SHARED, {2: LISTS}, "a")
    assert Taps().notes.of_message(facts(1), message) == ()
    assert Taps().notes.of_message(facts(2), message) == (
        Note("prunes_with_another_list", missing="b", party="c", author="a"),
    )
    assert Taps().notes.of_message(facts(2), replace(message, D={})) == ()
    assert Taps().notes.of_message(facts(0), Continue(SHARED)) == ()
    assert Taps().notes.of_message(facts(2), None) == ()


def test_the_first_party_and_taps_without_pruning_validate_nothing() -> None:
    assert [Taps().deployment.validates(facts(party)) for party in range(3)] == [False, True, True]
    assert not Taps().deployment.validates(facts(1, pruning=False))


def test_a_level_with_small_validation_sets_is_not_pruned() -> None:
    groups = {Group(level, role): 10 * level for level in (2, 3) for role in VALIDATING}
    message = Continue(SHARED, {2: LISTS, 3: LISTS, 4: LISTS}, "a")
    usable, notes = Taps().deployment.usable(facts(), message, groups, min_validation=21)
    assert isinstance(usable, Continue)
    assert list(usable.D) == [3]
    assert notes == tuple(Note("level_without_validation", levels=[level], least=21) for level in (2, 4))
    assert Taps().deployment.usable(facts(), None, groups, 21) == (None, ())


def test_a_list_that_would_be_pruned_whole_is_not_used() -> None:
    short = replace(LISTS, infrequent=LISTS.infrequent[:3], frequent=LISTS.frequent[:3])
    groups = {Group(2, role): 500 for role in VALIDATING}
    usable, notes = Taps().deployment.usable(facts(), Continue(SHARED, {2: short}, "a"), groups, min_validation=1)
    assert isinstance(usable, Continue)
    assert usable.D == {}
    assert notes == (Note("level_list_short", levels=[2], prefixes=3, least=4),)
