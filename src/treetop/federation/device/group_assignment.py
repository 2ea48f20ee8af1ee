"""Which group a device answers in, and in which week of a campaign: settled before its value is read."""

from dataclasses import dataclass
from hashlib import sha256

from treetop.federation.campaign import Campaign
from treetop.federation.task import DeviceTask
from treetop.privacy.randomness import Entropy, uniform_below
from treetop.trie.user_groups import Group


def drawn_group(task: DeviceTask, entropy: Entropy) -> Group:
    """Run by the device: draw a group with its own randomness, so that nobody else chooses it (one-shot)."""
    ticket = uniform_below(sum(entry.weight for entry in task.groups), entropy)
    for entry in task.groups:
        if ticket < entry.weight:
            return entry.group
        ticket -= entry.weight
    raise AssertionError("a ticket belongs to a group")


def drawn_week(campaign: Campaign, entropy: Entropy) -> int:
    """Run by the device: draw the week of a cycle in which it answers, each of W alike, with its own randomness."""
    return uniform_below(campaign.weeks, entropy)


@dataclass(frozen=True)
class Enrolment:
    """What settles a device's group in rounds mode: the beacon is published after enrolment has closed."""

    identifier: bytes
    """The ticket's serial number in 8 bytes."""
    beacon: bytes
    party: str = ""


def assigned_group(task: DeviceTask, enrolment: Enrolment) -> Group:
    """Run by the device and by its party, who must agree: neither can choose the group."""
    stream = _PublicStream(task.digest + sha256(enrolment.beacon).digest() + enrolment.identifier)
    return task.group_at(enrolment.party, drawn_group(task, stream))


class _PublicStream:
    """Bytes that everybody can compute: SHA-256 of a public text and a running number."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._number = 0
        self._left = b""

    def read(self, count: int) -> bytes:
        while len(self._left) < count:
            self._left += sha256(self._number.to_bytes(8, "big") + self._text).digest()
            self._number += 1
        taken = self._left[:count]
        self._left = self._left[count:]
        return taken
