"""Reports that no honest device would send reach the answer as a number (T10)."""

import numpy as np
import pytest
from tests.support.federations import Federation, crowd, order

from treetop.adapters.memory.report_collection import MemoryReportCollection
from treetop.encoding.bit_strings import keys_of
from treetop.federation.wire.signed_documents import PublishedList
from treetop.oracles.frequency_oracle import Columns
from treetop.oracles.hashing import buckets, premixed
from treetop.trie.user_groups import Group

SIZES = {"north": 3_000, "south": 2_000}
FAKES = 600


class Poisoned(MemoryReportCollection):
    """Some devices of every group send what supports as many items as it can."""

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        super().publish_list(document, listed)
        (column,) = self._reports[listed.question.group]
        if column.ndim == 2:
            column[: FAKES // 2] = np.packbits(np.ones(listed.question.slots, dtype=bool))

    def _hashed(self, group: Group) -> Columns:
        seeds, reported = super()._hashed(group)
        if group.level < len(self._task.lengths) - 1:
            return seeds, reported
        targets = premixed(keys_of(np.array(FAVOURITES, dtype=np.uint64)))
        tried = np.arange(1 << 22, dtype=np.uint32)
        hashed = [buckets(tried, low, high, self._task.unlisted_face.slots) for low, high in zip(*targets, strict=True)]
        alike = np.flatnonzero(np.all([row == hashed[0] for row in hashed], axis=0))[: FAKES // 2]
        crafted, wanted = tried[alike], hashed[0][alike]
        seeds, reported = seeds.copy(), reported.copy()
        seeds[: len(crafted)], reported[: len(crafted)] = crafted, wanted
        return seeds, reported


FAVOURITES = (200, 77, 9, 201, 78)


def answered(mode: str, *, poisoned: bool) -> dict[str, int]:
    asked = order("canopy", mode, list(SIZES), epsilon="2", k=5)
    federation = Federation.of(asked, crowd(SIZES, FAVOURITES[:3]))
    if poisoned:
        party = federation.parties["north"]
        task = federation.task
        party.collection[task.digest] = Poisoned(task, "north", party.codes, party.entropy)
    content = federation.query().run().content
    return {party["name"]: party["implausible"] for party in content["parties"]}


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_honest_devices_are_not_suspected(mode: str) -> None:
    assert answered(mode, poisoned=False) == {"north": 0, "south": 0}


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_crafted_reports_are_counted_at_their_party(mode: str) -> None:
    found = answered(mode, poisoned=True)
    assert found["south"] == 0
    assert found["north"] >= FAKES // 2
