"""What a mechanism is: an algorithm in two dialogues, and beside it how it travels, how it is deployed, what it says.

Parameters, dialogues and levels are a mechanism's own; the rest has a default that suits a mechanism whose server sends
nothing and whose parties upload their heavy hitters once, at the end. A mechanism of another package is a subclass in
one file, declared as an entry point of the group `treetop.mechanisms`.
"""

from abc import ABC, abstractmethod
from typing import Generic

from treetop.mechanisms.deployment import Deployment
from treetop.mechanisms.dialogue import Dialogue, Findings, Member, Roster
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.notes import Notes
from treetop.mechanisms.parameters import P
from treetop.mechanisms.wire.form import WireForm
from treetop.trie.global_ranking import GlobalRanking


class Mechanism(ABC, Generic[P]):
    """A way to find the most frequent items of a federation."""

    name: str
    reports_names: bool = False
    """Whether devices report whole names and parts of texts behind them (`CollectNames`), instead of prefixes."""
    wire: WireForm[P] = WireForm()
    """How its messages and uploads are written and read."""
    deployment: Deployment[P] = Deployment()
    """In which modes it can be deployed, what its devices are told, what it tolerates."""
    notes: Notes[P] = Notes()
    """What it says to the reader of an answer."""

    @property
    @abstractmethod
    def parameters(self) -> type[P]:
        """Return the class of its parameters, whose fields are its settings."""

    @abstractmethod
    def server(self, parameters: P, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: ask the parties and rank what they found."""

    @abstractmethod
    def party(self, parameters: P, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: ask its users, each once, and return what is uploaded last."""

    @abstractmethod
    def levels(self, parameters: P) -> Levels:
        """Return the levels of its candidates, or refuse settings under which they could not be counted."""
