"""The algorithms, in the paper's order and symbols, as dialogues.

What a mechanism of another package needs is offered here; what lies deeper may move.
"""

from treetop.encoding.bit_strings import Codes, root_prefix
from treetop.mechanisms.deployment import Deployment, Mode
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectReports,
    Dialogue,
    DivideUsers,
    DrawGroup,
    Findings,
    HearServer,
    LevelTrace,
    Member,
    Record,
    Roster,
    TellServer,
    Upload,
    ask,
)
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters, estimate, keep
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.notes import Notes
from treetop.mechanisms.parameters import Parameters, choice, number, setting, whole_number, yes_or_no
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts, decode_counts, encode_counts
from treetop.mechanisms.strict_json import code_texts, codes, decimal, record, require, whole, wholes
from treetop.mechanisms.wire.form import WireForm
from treetop.trie.global_ranking import GlobalRanking, summed
from treetop.trie.support import CandidateDomain, Estimates, Support
from treetop.trie.user_groups import Group, GroupSizes, equal_groups

__all__ = [
    "AskParties",
    "CandidateDomain",
    "Codes",
    "CollectReports",
    "Deployment",
    "Dialogue",
    "DivideUsers",
    "DrawGroup",
    "Estimates",
    "Findings",
    "GlobalRanking",
    "Group",
    "GroupSizes",
    "HearServer",
    "LevelTrace",
    "Levels",
    "Mechanism",
    "Member",
    "Mode",
    "Notes",
    "Parameters",
    "PublicFacts",
    "Record",
    "Roster",
    "Support",
    "TellServer",
    "TrieMechanism",
    "TrieParameters",
    "Upload",
    "WireForm",
    "ask",
    "choice",
    "code_texts",
    "codes",
    "decimal",
    "decode_counts",
    "encode_counts",
    "equal_groups",
    "estimate",
    "keep",
    "number",
    "record",
    "require",
    "root_prefix",
    "setting",
    "summed",
    "whole",
    "whole_number",
    "wholes",
    "yes_or_no",
]
