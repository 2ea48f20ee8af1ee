"""A party's devices in memory: each with its code, answering by the device's own thresholds, all at once."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array, keys_of, prefixes_of
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.device.list_checks import check_question
from treetop.federation.service_ports import Collected, Counting
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Beacon, PublishedList, unverified_content
from treetop.federation.wire.uploads import SERIAL_BYTES
from treetop.oracles.frequency_oracle import Columns, Counts, Keys, Tally, columns_of
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import EntropyWords
from treetop.oracles.walsh.device import no_name
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import Entropy
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group


class MemoryReportCollection:
    """All devices enrol and answer at once; what they have answered stays, like reports in a store."""

    def __init__(
        self,
        task: DeviceTask,
        party: str,
        codes: Sequence[int | None] | Sequence[Sequence[int | None]],
        entropy: Entropy,
        lists: Mapping[str, bytes] | None = None,
    ) -> None:
        """Take every device's code, None where its item has none, and the lists that the party was given, by digest.

        For a task about sets, take the codes of every device's items.
        """
        self._task = task
        self._party = party
        self._entropy = entropy
        held = [[code] if code is None or isinstance(code, int) else code for code in codes]
        self._ends = np.cumsum([0, *map(len, held)])
        """Device i holds the entries from ends[i] to ends[i + 1]."""
        self._devices = len(held)
        entries = [code for own in held for code in own]
        self._codes: Codes = code_array((code or 0 for code in entries), task.bits)
        self._without_code = np.array([code is None for code in entries], dtype=np.bool_)
        self._lists = {} if lists is None else lists
        self._words = EntropyWords(entropy)
        self._epsilon = Epsilon(task.budget.text)
        self._members: dict[Group, Counts] = {}
        self._reports: dict[Group, Columns] = {}

    def close(self) -> Collected:
        """One-shot: let every device draw a group and answer. Rounds: enrol them all."""
        devices = self._devices
        if not self._task.one_shot:
            return Collected(devices, devices, sha256(devices.to_bytes(SERIAL_BYTES, "big")).digest(), {})
        if not self._reports:
            self._draw_groups()
            self._reports = {group: self._hashed(group) for group in self._members}
        return Collected(devices, devices, bytes(32), self._sizes())

    def _sizes(self) -> dict[Group, int]:
        return {group: len(members) for group, members in self._members.items()}

    def _draw_groups(self) -> None:
        """Give every device a ticket below the sum of weights, as `group_assignment.drawn_group` does."""
        ends = np.cumsum([entry.weight for entry in self._task.groups])
        tickets = self._words.below(int(ends[-1]), self._devices)
        places = np.searchsorted(ends, tickets, side="right")
        self._members = {entry.group: np.flatnonzero(places == i) for i, entry in enumerate(self._task.groups)}

    def _hashed(self, group: Group) -> Columns:
        task = self._task
        members = self._members[group]
        if task.sets is not None:
            return self._hashed_sets(group)
        keys = self._keys(group, members)
        return task.unlisted_oracle.over(self._epsilon, 2).perturb(keys, self._words)

    def _hashed_sets(self, group: Group) -> Columns:
        """Let every device report its set through the device's own face."""
        face = self._task.unlisted_face
        keys = self._keys(group, np.arange(len(self._codes))).tolist()
        reports = []
        for first, end in zip(self._ends[self._members[group]], self._ends[self._members[group] + 1], strict=True):
            draw = face.draw(self._entropy)
            reports.append(draw.report({b"%d" % entry: keys[entry] for entry in range(first, end)}))
        layout = columns_of(self._task.unlisted_oracle.counting.layout(face.slots)).values()
        columns = zip(*reports, strict=True) if reports else ((), ())
        return tuple(np.array(column, dtype=form) for column, form in zip(columns, layout, strict=True))

    def _keys(self, group: Group, entries: Counts) -> Keys:
        """Return what devices hash in a group, for the codes of some entries."""
        task = self._task
        codes = self._codes[entries]
        keys = keys_of(prefixes_of(codes, task.bits, task.lengths[group.level if task.reports == "prefixes" else 1]))
        if task.reports == "names" and group.level > 1:
            chunks = prefixes_of(codes, task.bits, task.lengths[group.level]) & (CHUNK_VALUES - 1)
            keys = chunk_keys(keys, group.level - 2, chunks.astype(np.uint64), task.name_bits)
        keys[self._without_code[entries]] = NO_CODE_KEY if task.reports == "prefixes" else no_name(task.name_bits)
        return keys

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        """Let every device compute its group."""
        if not self._members:
            beacon = Beacon.from_bytes(unverified_content(document).encode()).beacon
            serials: dict[Group, list[int]] = {}
            for serial in range(self._devices):
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
        oracle = self._task.oracle_for(question.slots).over(self._epsilon, question.slots)
        slots = domain.slots_of(prefixes)
        slots[self._without_code[members]] = len(domain)
        self._reports[question.group] = oracle.perturb(slots, self._words)

    def gather(self, group: Group) -> int:
        """Return the reports of a group."""
        return len(self._members.get(group, ()))

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        """Count the reports of some groups together."""
        total = counting.oracle.counting.no_reports(counting.slots, counting.keys)
        for group in groups:
            if self.gather(group):
                support = counting.oracle.counting.support(self._reports[group], counting.slots, counting.keys)
                total += Tally(support, self.gather(group))
        return total

    def reports(self, group: Group, counting: Counting) -> Iterator[Columns]:  # noqa: ARG002  there is one kind
        """Yield the reports of a group."""
        yield self._reports[group]

    def item_list(self) -> bytes | None:
        """Return the list that the task names."""
        return self._lists.get(self._task.item_list)

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        """Return how many reports of some groups no honest device sends."""
        oracle = counting.oracle.over(self._epsilon, counting.slots)
        found = 0
        for group in groups:
            if reports := self.gather(group):
                surprising = oracle.surprising(self._reports[group], counting.keys)
                found += oracle.beyond_chance(surprising, reports, len(counting.keys))
        return found
