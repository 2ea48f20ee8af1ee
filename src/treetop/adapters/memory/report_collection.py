"""A party's devices in memory: each with its code, answering by the device's own thresholds, all at once."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from treetop.adapters.system.vectorised_device import SlotLaw, uniform_below
from treetop.encoding.bit_strings import Codes, keys_of, prefixes_of
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.device.list_checks import check_question
from treetop.federation.ports import Entropy
from treetop.federation.service_ports import Collected, Counting
from treetop.federation.task import DeviceTask
from treetop.federation.thresholds import HALF, flip_threshold
from treetop.federation.wire.published_lists import Beacon, PublishedList
from treetop.federation.wire.signed_documents import unverified_content
from treetop.federation.wire.tickets import SERIAL_BYTES
from treetop.oracles.hash_family import buckets, premixed
from treetop.oracles.optimized_local_hashing import HashedReports
from treetop.oracles.plausibility import beyond_chance, implausible_bits, rare_hashes
from treetop.oracles.registry import ORACLES
from treetop.oracles.support_counts import hash_support
from treetop.oracles.tallies import Counts, Tally
from treetop.privacy.epsilon import Epsilon
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.user_groups import Group


class MemoryReportCollection:
    """All devices enrol and answer at once; what they have answered stays, like reports in a store."""

    def __init__(self, task: DeviceTask, party: str, codes: Codes, entropy: Entropy) -> None:
        self._task, self._party, self._codes, self._entropy = task, party, codes, entropy
        self._members: dict[Group, Counts] = {}
        self._reports: dict[Group, Any] = {}

    def close(self) -> Collected:
        """One-shot: let every device draw a group and answer. Rounds: enrol them all."""
        devices = len(self._codes)
        if not self._task.one_shot:
            return Collected(devices, devices, sha256(devices.to_bytes(SERIAL_BYTES, "big")).digest(), {})
        if not self._reports:
            self._draw_groups()
            self._reports = {group: self._hashed(group) for group in self._members}
        return Collected(devices, devices, bytes(32), self._sizes())

    def _sizes(self) -> dict[Group, int]:
        return {group: len(members) for group, members in self._members.items()}

    def _draw_groups(self) -> None:
        """Give every device a ticket below the sum of weights, as `lots.drawn_group` does."""
        ends = np.cumsum([entry.weight for entry in self._task.groups])
        tickets = uniform_below(int(ends[-1]), len(self._codes), self._entropy)
        places = np.searchsorted(ends, tickets, side="right")
        self._members = {entry.group: np.flatnonzero(places == i) for i, entry in enumerate(self._task.groups)}

    def _hashed(self, group: Group) -> HashedReports:
        prefixes = prefixes_of(self._codes[self._members[group]], self._task.bits, self._task.lengths[group.level])
        seeds = np.frombuffer(self._entropy.read(4 * len(prefixes)), dtype=np.uint32)
        law = SlotLaw.of(self._task.budget, self._task.bucket_count)
        truths = buckets(seeds, *premixed(keys_of(prefixes)), law.slots)
        return HashedReports(seeds, law.perturbed(truths, self._entropy))

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Let every device compute its group."""
        if not self._members:
            beacon = Beacon.from_bytes(unverified_content(document).encode()).beacon
            serials: dict[Group, list[int]] = {}
            for serial in range(len(self._codes)):
                enrolment = Enrolment(serial.to_bytes(SERIAL_BYTES, "big"), beacon, self._party)
                serials.setdefault(assigned_group(self._task, enrolment), []).append(serial)
            self._members = {group: np.array(members) for group, members in serials.items()}
        return self._sizes()

    def publish_list(self, document: bytes, listed: PublishedList) -> None:  # noqa: ARG002  nobody forges in memory
        """Let the devices of a group check a list and answer it, once."""
        question = listed.question
        if question.group in self._reports:
            return
        check_question(self._task, question.group, question, listed.published)
        members = self._members.get(question.group, np.empty(0, dtype=np.int64))
        prefixes = prefixes_of(self._codes[members], self._task.bits, question.length)
        domain = CandidateDomain(question.length, np.array(question.prefixes, dtype=self._codes.dtype))
        self._reports[question.group] = self._listed(domain.slots_of(prefixes), question.slots)

    def _listed(self, truths: Counts, slots: int) -> Any:
        if self._task.oracle_for(slots) == "krr":
            return SlotLaw.of(self._task.budget, slots).perturbed(truths.astype(np.uint32), self._entropy)
        words = np.frombuffer(self._entropy.read(8 * slots * len(truths)), dtype=np.uint64).reshape(-1, slots)
        bits = words < np.uint64(flip_threshold(self._task.budget))
        own = np.arange(len(truths))
        bits[own, truths] = words[own, truths] < np.uint64(HALF)
        return bits

    def gather(self, group: Group) -> int:
        """Return the reports of a group."""
        return len(self._members.get(group, ()))

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of some groups together."""
        tallies = [self._counted(group, counting) for group in groups if self.gather(group)]
        slots = len(counting.keys) if counting.oracle == "olh" else counting.slots
        return sum(tallies, Tally(np.zeros(slots, dtype=np.int64), 0))

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        """Return how many reports of some groups no honest device sends."""
        return sum(self._surprising(group, counting) for group in groups if self.gather(group))

    def _surprising(self, group: Group, counting: Counting) -> int:
        reports, number = self._reports[group], self.gather(group)
        oracle = ORACLES[counting.oracle](Epsilon(self._task.budget.text), counting.slots)
        if counting.oracle == "oue":
            return implausible_bits(np.packbits(reports, axis=1), counting.slots, oracle.p, oracle.q)
        if counting.oracle == "krr":
            return 0
        rare = rare_hashes(reports.seeds, reports.buckets, counting.keys, counting.slots, oracle.p)
        return beyond_chance(rare, number, len(counting.keys), counting.slots, oracle.p)

    def _counted(self, group: Group, counting: Counting) -> Tally:
        reports, number = self._reports[group], self.gather(group)
        if counting.oracle == "olh":
            return Tally(hash_support(reports.seeds, reports.buckets, counting.keys, counting.slots), number)
        if counting.oracle == "krr":
            return Tally(np.bincount(reports, minlength=counting.slots).astype(np.int64), number)
        return Tally(reports.sum(axis=0, dtype=np.int64), number)
