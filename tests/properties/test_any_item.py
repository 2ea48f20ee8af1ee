"""Whatever bytes an item is, its device answers, and says as much as any other: silence would tell."""

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.fake_party import PINNED, FakeParty, serving
from tests.support.fixed_entropy import FixedEntropy
from tests.support.fleets import PATIENCE, fleet_task, publish_level
from tests.support.refusals import refused
from tests.support.tasks import GROUPS, task

from treetop.adapters.http.retrying_connection import Reply, Request
from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.cli.federation.device import item_source
from treetop.datasets.loading import federation_named
from treetop.datasets.party_split import HeldItems, users_of
from treetop.datasets.table_files.options import ReadOptions
from treetop.encoding import item_codecs
from treetop.encoding.device_items import LONGEST_ITEM, device_code, device_codes
from treetop.encoding.item_codecs import EncodedItems, Hashed, ItemCodec, codec_named
from treetop.errors import InvalidInput
from treetop.federation.device.ledger import Ledger
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.task import DeviceTask, Encoding
from treetop.federation.wire.signed_documents import Publication
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import SingleDevice
from treetop.trie.user_groups import Group

HASH_KEY = {"hashed": "public"}
ENCODINGS = ("ids", "words", "text", "hashed")
ORACLES = ("olh", "krr", "oue", "listed")
HUGE = b"x" * 3_000_000
ITEMS = (
    st.binary(max_size=60)
    | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.from_regex(rb"[0-9]{1,80}|[a-zA-Z]{1,30}", fullmatch=True)
    | st.integers(LONGEST_ITEM - 3, LONGEST_ITEM + 3).map(lambda length: b"a" * length)
)
AWKWARD = (b"", b"\0", b"\xff\xfe", b"77\n", b"7\x007", b"\xed\xa0\x80", "ß".encode(), "\U0001f600".encode(), HUGE)


def task_of(oracle: str, encoding: str) -> DeviceTask:
    return replace(
        task(oracle), parties=("north", "south"), groups=GROUPS[:3], lengths=(0, 2, 4, 48),
        encoding=Encoding(encoding, HASH_KEY.get(encoding, "")),
    )  # fmt: skip


class InProcess:
    """The party's answers without a socket between."""

    def __init__(self, party: FakeParty) -> None:
        self.party, self.sent = party, list[tuple[str, int]]()

    def ask(self, request: Request) -> Reply:
        self.sent.append((request.path, len(request.body or b"")))
        status, body, _ = self.party.answer(request.method, request.path, request.body or b"")
        return Reply(status, body, None)

    def close(self) -> None:
        pass


class InMemory:
    """A device's folder for one run."""

    def __init__(self) -> None:
        self.ledger = Ledger(MemoryLedger(), MemoryCounter())

    def note(self, *event: Any) -> None:
        pass

    def enrolled(self, digest: bytes) -> bool:
        return False


Said = tuple[list[tuple[str, int]], list[str], int]
ALL = (0, 1, 2, 3)


def said(oracle: str, encoding: str, item: Callable[[], str], published: tuple[int, ...] = ALL) -> Said:
    """Return what a device sends, tells and draws, with the same random bytes for every item."""
    of = task_of(oracle, encoding)
    party = FakeParty(of, enrol_until=1)
    serial = next(number for number in range(100) if party.group_of(number).level == 2)
    children = tuple(4 * prefix + ending for prefix in published for ending in range(4))
    party.publish(Group(2), Publication(2, published), children)
    connection, told, entropy = cast(Any, InProcess(party)), list[str](), FixedEntropy(7)
    client, ticket = PartyClient(connection), party.tickets.write(of.digest, serial)
    trusted = TrustedTask.of(client.task(of.digest), of.digest, "north", PINNED)
    device = SingleDevice(client, trusted, ticket, cast(Any, InMemory()), lambda: [item()], entropy, told.append)
    assert device.run() is ReportStatus.ACCEPTED
    return connection.sent, told, entropy.total


def from_file(item: bytes) -> Callable[[], str]:
    """Read it as `treetop device --item-file` does, and put it away again."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "item"
        path.write_bytes(item)
        (read,) = item_source((), None, path)()
    return lambda: read


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("oracle", ORACLES)
def test_every_item_is_answered_with_as_many_bytes(oracle: str, encoding: str) -> None:
    @settings(max_examples=20)
    @given(ITEMS, st.sets(st.sampled_from(ALL), min_size=2))
    def holds(item: bytes, published: set[int]) -> None:
        listed = tuple(sorted(published))
        assert said(oracle, encoding, from_file(item), listed) == said(oracle, encoding, lambda: "77", listed)

    holds()
    for item in AWKWARD:
        assert said(oracle, encoding, from_file(item)) == said(oracle, encoding, lambda: "77")


def sources(item: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an item as each option of `treetop device` reads it."""
    (folder / "item").write_bytes(item)
    text = os.fsdecode(item)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(item)))
    found = {
        "--item": item_source([text])(),
        "--item-file": item_source((), None, folder / "item")(),
        "--item-file -": item_source((), None, Path("-"))(),
    }
    if b"\0" not in item and len(item) < 100_000:
        monkeypatch.setitem(os.environ, "ITEM", text)
        found["--item-env"] = item_source((), "ITEM")()
    return {option: only for option, (only,) in found.items()}


@pytest.mark.parametrize("item", AWKWARD)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_option_reads_the_same_item(
    item: bytes, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = codec_named(encoding, 48, "public")
    codes = {device_code(codec, found) for found in sources(item.rstrip(b"\n"), tmp_path, monkeypatch).values()}
    assert len(codes) == 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=60)
@given(item=ITEMS)
@example(item=b"\xff")
@example(item=b"a\xff")
@example(item=b"a" * LONGEST_ITEM)
@example(item=b"a" * (LONGEST_ITEM + 1))
def test_only_readable_items_have_a_code_and_a_fleet_agrees(encoding: str, item: bytes) -> None:
    codec, text = codec_named(encoding, 48, "public"), item.decode("utf-8", "surrogateescape")
    try:
        encoded = codec.encode([item.decode("utf-8")])
        expected = int(encoded.codes[0]) if encoded.fits[0] and len(item) <= LONGEST_ITEM else None
    except UnicodeDecodeError:
        expected = None
    assert device_code(codec, text) == expected
    assert device_codes(codec, ["77", text]) == [device_code(codec, "77"), expected]
    held = HeldItems(["77", text], np.array([1, 0, 1]))
    assert held.codes(codec) == [expected, device_code(codec, "77"), expected]


class Watched(ItemCodec):
    """Counts the bytes that it is given."""

    name = "watched"

    def __init__(self) -> None:
        super().__init__(48)
        self.work: list[int] = []

    def encode(self, items: Sequence[str]) -> EncodedItems:
        self.work.append(sum(len(item.encode()) for item in items))
        return codec_named("hashed", 48, "public").encode(items)

    def decode(self, code: int) -> str | None:
        return None


@settings(max_examples=100)
@given(ITEMS)
@example(HUGE)
@example("\U0001f600".encode() * 1024)
@example("\U0001f600".encode() * 1025)
def test_the_codec_works_on_as_many_bytes_for_every_item(item: bytes) -> None:
    codec = Watched()
    device_code(codec, item.decode("utf-8", "surrogateescape"))
    assert codec.work == [LONGEST_ITEM]


@pytest.mark.parametrize("item", [b"", b"77", b"x" * 1_000, b"\xff" * 50, HUGE])
def test_as_many_bytes_are_hashed_for_every_item(item: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def counting(text: bytes, *, key: bytes) -> Any:
        hashed.append(len(text))
        return blake2b(text, key=key)

    monkeypatch.setattr(item_codecs, "blake2b", counting)
    device_code(Hashed(48), item.decode("utf-8", "surrogateescape"))
    assert (len(hashed), sum(hashed)) == (2, LONGEST_ITEM)


@pytest.mark.parametrize("item", [b"", b"77\n", HUGE])
def test_no_more_of_a_file_is_read_than_an_item_may_have(item: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(size)

    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": Counted(item)})())
    item_source((), None, Path("-"))()
    assert asked == [LONGEST_ITEM + 3]


class Failing(Hashed):
    """A codec of another package that breaks its promise."""

    def encode(self, items: Sequence[str]) -> EncodedItems:
        if "bad" in items:
            raise KeyError("the canary is here")
        return super().encode(items)


def test_a_codec_that_fails_means_none_of_these() -> None:
    codec = Failing(48)
    good = Hashed(48).hash_of(b"good")
    assert device_code(codec, "bad") is None
    assert device_code(codec, "good") == good
    assert device_codes(codec, ["good", "bad", "good"]) == [good, None, good]


@pytest.mark.parametrize("oracle", ["olh", "krr"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_fleet_answers_for_every_line_of_its_file(tmp_path: Path, oracle: str, ending: str) -> None:
    from treetop.services.fleet.fleet import Fleet, FleetPlan

    items = [b"77", b"\xff\xfe", b"", b"5", b"x" * 100_000, b"7\x007", "ß".encode(), b"\xed\xa0\x80"]
    if ending == "csv":
        (tmp_path / "data.csv").write_bytes(b"party,item\n" + b"".join(b"north," + item + b"\n" for item in items))
    else:
        pq.write_table(pa.table({"party": ["north"] * len(items), "item": items}), tmp_path / "data.parquet")
    held = users_of(federation_named([str(tmp_path / f"data.{ending}")], ReadOptions(any_items=True)), "north", None, 1)
    party = FakeParty(replace(fleet_task(oracle), encoding=Encoding("hashed", "public")), enrol_until=len(items))
    for level in (1, 2, 3):
        publish_level(party, level)
    with serving(party) as url:
        tickets = party.write_tickets(len(items))
        plan = FleetPlan(url, party.task.digest, "north", tickets, tmp_path / "state", PINNED, retry=PATIENCE)
        fleet = Fleet(plan, held, "any bytes")
        totals = fleet.run()
        fleet.close()
    assert totals.verdicts == {"accepted": len(items)}
    sizes: dict[Group, set[int]] = {}
    for serial, batch in party.received:
        group = party.group_of(serial) if oracle == "krr" else Group(1)
        sizes.setdefault(group, set()).add(len(batch))
    assert all(len(each) == 1 for each in sizes.values())


@pytest.mark.parametrize(("column", "read"), [
    (pa.array([7, 12, None]), ["", "12", "7"]), (pa.array(["a", "ß"], pa.large_string()), ["a", "ß"]),
    (pa.array([b"\xff"], pa.large_binary()), ["\udcff"]), (pa.array(["a", "a", "b"]).dictionary_encode(), ["a", "b"]),
    (pa.array([1.5]), "column_kind"),
])  # fmt: skip
def test_items_of_any_type_are_read_as_they_are_written(tmp_path: Path, column: Any, read: Any) -> None:
    pq.write_table(pa.table({"item": column}), tmp_path / "data.parquet")
    if isinstance(read, str):
        with refused(read, InvalidInput):
            federation_named([str(tmp_path / "data.parquet")], ReadOptions(any_items=True))
    else:
        assert federation_named([str(tmp_path / "data.parquet")], ReadOptions(any_items=True)).items == read
