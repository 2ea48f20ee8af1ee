"""The device's vectors; `generate.py` writes them.

A device in any language is held to these files: thresholds, draws from given random bytes, bodies, batches, tasks
and candidate lists, and what must be refused.
"""

import json
import zlib
from dataclasses import replace
from hashlib import sha256
from typing import Any

from treetop.adapters.system.key_files import SigningKey
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.encoding.device_items import device_code
from treetop.federation.device.group_assignment import Enrolment, assigned_group, drawn_group
from treetop.federation.device.private_value import PrivateValue
from treetop.federation.task import DeviceTask, Encoding, WeightedGroup
from treetop.federation.task_codec import codec_of, steps_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, encoded_batch
from treetop.federation.wire.signed_documents import Beacon, Publication, PublishedList, Question, signed, signed_task
from treetop.federation.wire.uploads import TicketedReport, TicketKey, encoded_upload
from treetop.oracles.hashed_reports import HashedReport, mixed_words
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.olh.device import bucket_count
from treetop.oracles.oue.device import flip_threshold
from treetop.oracles.protocol import MAX_SLOTS
from treetop.oracles.registry import find_oracle
from treetop.oracles.walsh.device import ParityFace, chunk_key, parity_count
from treetop.oracles.walsh.device import keep_threshold as walsh_keep_threshold
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group, Role

EPSILONS = ("0.001", "0.1", "0.5", "1", "2", "3", "4", "5", "8", "16")
Vector = dict[str, Any]


def stream(length: int, start: int) -> bytes:
    """Bytes that look random and that anybody can write down again: a quadratic sequence."""
    return bytes((start + 167 * place + 13 * place * place) % 256 for place in range(length))


def thresholds() -> list[Vector]:
    """64-bit integers stand in decimal texts, since many languages read JSON numbers as doubles."""
    return [
        {
            "epsilon": epsilon, "flip": str(flip_threshold(odds)), "buckets": bucket_count(odds),
            "keep": {str(d): str(keep_threshold(odds, d)) for d in (2, 3, 5, 41, 321, 4097, MAX_SLOTS)},
            "outcomes": 1 << parity_count(odds),
            "walsh_keep": str(walsh_keep_threshold(odds, 1 << parity_count(odds))),
        }
        for epsilon in EPSILONS for odds in [Budget(epsilon).odds_below]
    ]  # fmt: skip


def drawn(oracle: str, epsilon: str, slots: int | None, value: int, script: bytes) -> Vector:
    face, entropy = find_oracle(oracle).device(Budget(epsilon), slots), ScriptedEntropy(script)
    body = face.encode(face.draw(entropy).report(value))
    return {
        "oracle": oracle, "epsilon": epsilon, "slots": face.slots, "value": str(value), "randomness": script.hex(),
        "bytes_taken": entropy.taken, "body": body.hex(),
    }  # fmt: skip


def draws() -> list[Vector]:
    keep = keep_threshold(Budget("1").odds_below, 5)
    edges = [(keep - 1).to_bytes(8, "big") + b"\2", keep.to_bytes(8, "big") + b"\2", b"\xff" * 8 + b"\7\6\5\4\3"]
    cases = [drawn("krr", "1", 5, value, script) for script in edges for value in range(5)]
    for start in range(0, 250, 10):
        cases.append(drawn("krr", "2", 321, start, stream(100, start)))
        cases.append(drawn("krr", "4", 70_000, 69_999 - start, stream(200, start)))
        cases.append(drawn("oue", "1", 11, start % 11, stream(88, start)))
        cases.append(drawn("olh", "2", None, start << 32, stream(100, start)))
        cases.append(drawn("olh", "8", None, start, stream(200, start)))
        cases.append(drawn("walsh", "1", None, start << 32, stream(13, start)))
        cases.append(drawn("walsh", "4", None, (start * start * 131) % (1 << 24), stream(13, start)))
    return cases


def walsh_hash() -> list[Vector]:
    """Outcomes of keys, and the words behind them; keys and words are texts, as they may have 64 bits."""
    keys = (0, 1, 0xDEADBEEF, (1 << 24) - 1, (1 << 48) - 1, (1 << 64) - 1)
    return [
        {
            "seed": seed, "outcomes": slots, "words": [str(word) for word in mixed_words(seed, slots.bit_length())],
            "outcome": {str(key): ParityFace(Budget("1").odds_below, slots).hashed(seed, key) for key in keys},
        }
        for seed in (0, 1, 0x9E3779B9, (1 << 32) - 1) for slots in (2, 4, 8, 64, 256)
    ]  # fmt: skip


def chunk_keys() -> list[Vector]:
    """The keys by which devices report the value of a chunk of the text behind their name."""
    return [
        {"bits": bits, "name": name, "chunk": chunk, "value": value, "key": chunk_key(name, chunk, value, bits)}
        for bits in (8, 24, 26, 28) for name in (0, 77, (1 << bits) - 1) for chunk in (0, 1, 11, 63)
        for value in (0, 1, 200, 255)
    ]  # fmt: skip


TASK = DeviceTask(
    "favourite fruit", "fruit", Budget("2.5"), "krr", 10, (0, 2, 4, 6, 8),
    (WeightedGroup(Group(1), 1), WeightedGroup(Group(2), 9), WeightedGroup(Group(3, Role.VALIDATE_INFREQUENT), 2),
     WeightedGroup(Group(3, Role.VALIDATE_FREQUENT), 2), WeightedGroup(Group(3), 6), WeightedGroup(Group(4), 10)), 500,
)  # fmt: skip
ONE_SHOT = DeviceTask(
    "Lieblingsobst: Äpfel?", "fruit", Budget("2"), "olh", 10, (0, 8, 48, 256),
    tuple(WeightedGroup(Group(level), level) for level in (1, 2, 3)),
)  # fmt: skip
WALSH = DeviceTask(
    "every name", "fruit", Budget("4"), "walsh", 10, (0, 24), (WeightedGroup(Group(1), 1),),
)  # fmt: skip

ANY_TEXT = replace(
    WALSH, name='"quoted" \\ 😀',
    settings=(("\uffee", "before"), ("😀", "after \u00fc")), parties=("\u200dnorth", "süd"),
)  # fmt: skip
LISTED = ItemList(("chai", "Äpfel", "天气预报", "a\nb"), ordered=True, source="drinks.csv")
NAMES = DeviceTask(
    "every text", "fruit", Budget("4"), "walsh", 10, (0, 24, 32, 40, 48),
    tuple(WeightedGroup(Group(level), weight) for level, weight in ((1, 70), (2, 15), (3, 10), (4, 5))),
    encoding=Encoding("hashed", "0011223344556677", "nfc,casefold,trim"), reports="names", item_list=LISTED.digest,
    mechanism="panorama", settings=(("bits", "24"), ("hash_key", "0011223344556677")),
)  # fmt: skip
CATALOGUE = DeviceTask(
    "known drinks", "fruit", Budget("1"), "walsh", 10, (0, 8), (WeightedGroup(Group(1), 1),),
    encoding=Encoding("catalogue"), reports="names", item_list=LISTED.digest, mechanism="panorama",
)  # fmt: skip


def tasks() -> Vector:
    whole = ONE_SHOT.canonical_bytes().decode()
    good = [
        {"canonical": task.canonical_bytes().decode(), "digest": task.digest.hex()}
        for task in (TASK, ONE_SHOT, WALSH, NAMES, CATALOGUE, ANY_TEXT)
    ]
    names = NAMES.canonical_bytes().decode()
    bad = [
        "", "{}", "[]", whole + " ", whole.replace(":", ": "), whole.replace('"k":10', '"k":10.0'),
        whole.replace('"k":10', '"k":"10"'), whole.replace('"k":10', '"k":10,"note":""'), whole.replace('"2"', '"2.0"'),
        whole.replace('"2"', '"17"'), whole.replace('"2"', '"-1"'), whole.replace('"olh"', '"rappor"'),
        whole.replace("[0,8,48,256]", "[0,48,8,256]"), whole.replace("[0,8,48,256]", "[1,8,48,256]"),
        whole.replace('[1,"estimate",1]', '[1,"estimate",0]'), whole.replace('[1,"estimate",1]', '[9,"estimate",1]'),
        whole.replace('[1,"estimate",1]', '[1,"validates",1]'), whole.replace('"fruit"', '""'),
        whole.replace('"buckets":"9"', '"buckets":"8"'), whole.replace('"estimate":500', '"estimate":0'),
        whole.replace('"opens":0', '"opens":-1'), whole.replace('"parties":[]', '"parties":["a","a"]'),
        names.replace('"names"', '"prefixes"'), names.replace('"names"', '"secrets"'),
        names.replace("[0,24,", "[0,25,"),
        names.replace("[0,24,32,40,48]", "[0,24,32,48,56]"), names.replace("nfc,casefold,trim", "casefold,nfc,trim"),
        names.replace("nfc,casefold,trim", "nfc,rot13"), names.replace("nfc,casefold,trim", ""),
        names.replace(LISTED.digest, LISTED.digest[2:]), names.replace(LISTED.digest, LISTED.digest.upper()),
        names.replace(LISTED.digest, ""), names.replace('"walsh"', '"krr"'),
    ]  # fmt: skip
    return {"good": good, "bad": bad}


def item_lists() -> Vector:
    """Lists that tasks name by their digest, stored without compression so that they are the same bytes everywhere."""
    text = zlib.decompress(LISTED.document)
    bad = [
        (b"", LISTED.digest), (text, LISTED.digest), (zlib.compress(text, 0)[:-1], LISTED.digest),
        (zlib.compress(text, 0) + b"\0", LISTED.digest), (zlib.compress(text, 0), "ab" * 32),
        *(_list_of(text.replace(*change)) for change in (
            (b"chai", b""), (b"chai", b"a\\nb"), (b"true", b"1"), (b"true", b"true "), (b"drinks.csv", b"\\u202e"),
            (b"drinks.csv", b""), (b"chai", b"\\ud800"), (b"ordered", b"sorted"), (b'"chai"', b"5"),
            (b'"source"', b'"more":1,"source"'), (b"chai", b"x" * 4097), (text, b"[]"), (text, b"null"),
        )),
    ]  # fmt: skip
    good = {
        "document": zlib.compress(text, 0).hex(), "digest": LISTED.digest, "items": list(LISTED.items),
        "ordered": LISTED.ordered, "source": LISTED.source,
    }  # fmt: skip
    return {"good": [good], "bad": [{"document": document.hex(), "digest": digest} for document, digest in bad]}


def _list_of(text: bytes) -> tuple[bytes, str]:
    return zlib.compress(text, 0), sha256(b"treetop item list 1\0" + text).hexdigest()


def names() -> list[Vector]:
    """What items become where names are reported: the code, None where there is none, and the key of every level."""
    held = [
        "chai",
        "  CHAI ",
        "Cafe\u0301",
        "stra\u00dfe",
        "öffnungszeiten",
        "天气预报",
        "",
        "x" * 4096,
        "x" * 4097,
        "a\nb",
    ]
    cases: list[Vector] = []
    for task in (NAMES, CATALOGUE):
        for item in held:
            code = device_code(codec_of(task, LISTED.items), item, steps_of(task))
            keys = [PrivateValue(code, task.bits).key(task, level) for level in range(1, len(task.lengths))]
            cases.append({
                "task": task.digest.hex(), "item": item, "code": None if code is None else f"{code:x}",
                "keys": [str(key) for key in keys],
            })  # fmt: skip
    return cases


def groups() -> list[Vector]:
    cases: list[Vector] = []
    for number in range(20):
        script, enrolment = stream(40, 7 * number), Enrolment(f"device {number}".encode(), b"beacon")
        own, given = drawn_group(TASK, ScriptedEntropy(script)), assigned_group(TASK, enrolment)
        cases.append({
            "randomness": script.hex(), "drawn": [own.level, own.role.value],
            "identifier": enrolment.identifier.hex(), "beacon": enrolment.beacon.hex(),
            "assigned": [given.level, given.role.value],
        })  # fmt: skip
    return cases


def domains() -> list[Vector]:
    lists = [
        (Group(1), 2, (0, 1, 2, 3)),
        (Group(3, Role.VALIDATE_FREQUENT), 6, (4, 5, 63)),
        (Group(4), 256, (0, (1 << 256) - 1)),
    ]
    return [
        {"level": group.level, "role": group.role.value, "length": length, "prefixes": [str(p) for p in prefixes],
         "digest": Question(TASK.digest, group, length, prefixes).digest.hex()}
        for group, length, prefixes in lists
    ]  # fmt: skip


def batches() -> Vector:
    domain = bytes(range(32))
    krr = Envelope(TASK.digest, Group(3, Role.VALIDATE_FREQUENT), domain, find_oracle("krr"), 300)
    oue = Envelope(TASK.digest, Group(1), domain, find_oracle("oue"), 11)
    olh = Envelope(ONE_SHOT.digest, Group(3), NO_DOMAIN, find_oracle("olh"), 9)
    wide = Envelope(ONE_SHOT.digest, Group(3), NO_DOMAIN, find_oracle("olh"), 2982)
    walsh = Envelope(ONE_SHOT.digest, Group(3), NO_DOMAIN, find_oracle("walsh"), 8)
    written = [
        encoded_batch(krr, [0, 299, 17]), encoded_batch(oue, [(True, False) * 5 + (True,), (False,) * 11]),
        encoded_batch(olh, [HashedReport(0xDEADBEEF, 8), HashedReport(0, 0)]),
        encoded_batch(wide, [HashedReport(1, 2981)]),
        encoded_batch(walsh, [HashedReport(0xDEADBEEF, 7), HashedReport(0, 0)]),
    ]  # fmt: skip
    one, hashed = encoded_batch(krr, [5]), encoded_batch(olh, [HashedReport(1, 1)])
    parities = encoded_batch(walsh, [HashedReport(1, 1)])
    bad = [
        b"", one[:76], one[:-1], one + b"\0", b"\0" + one[1:], b"\2" + one[1:],
        edited(one, 33, b"\0\0"), edited(one, 35, b"\3"), edited(one, 36, bytes(32)), edited(one, 68, b"\0"),
        edited(one, 68, b"\4"), edited(one, 69, b"\0\0\0\1"), edited(one, 69, b"\xff\0\0\0"),
        edited(one, 73, b"\0\0\0\0"), edited(one, 73, b"\0\0\0\2"), edited(one, 73, b"\xff\xff\xff\xff"),
        edited(one, 77, b"\1\x2c"), edited(one, 77, b"\xff\xff"),
        edited(hashed, 36, b"\1"), edited(hashed, 81, b"\x09"), edited(one, 68, b"\5"),
        edited(parities, 69, b"\0\0\0\x09"), edited(parities, 69, b"\0\0\2\0"),
        edited(parities, 36, b"\1"), edited(parities, 81, b"\x08"),
        edited(encoded_batch(oue, [(False,) * 11]), 78, b"\1"),
        edited(encoded_batch(oue, [(False,) * 11]), 78, b"\x10"),
    ]  # fmt: skip
    return {"good": [batch.hex() for batch in written], "bad": [batch.hex() for batch in bad]}


SIGNING_KEY = bytes(range(32))
IN_ROUNDS = replace(TASK, parties=("north", "south"), oracle="listed")


def signed_documents() -> Vector:
    """A task, a beacon, a k-RR list and an OUE list, signed with a key that everybody knows; and what is refused."""
    key = SigningKey(SIGNING_KEY)
    beacon = Beacon(IN_ROUNDS.digest, "south", 1_000, stream(32, 1), stream(32, 2)).to_bytes()
    short = Question(IN_ROUNDS.digest, Group(1), 2, (0, 1, 2, 3))
    lengthy = Question(IN_ROUNDS.digest, Group(4), 8, tuple(range(4, 80)), tuple(range(4)))
    lists = [
        PublishedList("south", short, Publication(0, (0,))).to_bytes(IN_ROUNDS),
        PublishedList("south", lengthy, Publication(6, tuple(range(20)))).to_bytes(IN_ROUNDS),
    ]
    documents = [("task", signed_task(IN_ROUNDS, key)), ("beacon", signed("beacon", beacon, key))]
    documents += [("list", signed("list", content, key)) for content in lists]
    good = [{"kind": kind, "document": document.decode()} for kind, document in documents]
    return {"public_key": key.public, "good": good, "bad": _spoilt_documents(documents, key)}


def _spoilt_documents(documents: list[tuple[str, bytes]], key: SigningKey) -> list[Vector]:
    task, beacon = documents[0][1].decode(), documents[1][1].decode()
    parts = json.loads(beacon)
    signature = parts["signature"]
    bad = [
        ("task", ""), ("task", "{}"), ("task", "[]"), ("task", "null"), ("task", task[:-1]), ("task", task + "}"),
        ("task", task.replace("2.5", "3.5")), ("task", task.replace("fruit", "roots")), ("task", beacon),
        ("beacon", task), ("list", beacon), ("beacon", beacon.replace(signature, signature[::-1])),
        ("beacon", beacon.replace(signature, signature[:-2])), ("beacon", beacon.replace(signature, "zz")),
        ("beacon", beacon.replace('"kind"', '"sort"')), ("beacon", json.dumps({**parts, "note": ""})),
        ("beacon", json.dumps({**parts, "content": parts["content"] + " "})),
        ("beacon", signed("beacon", parts["content"].encode(), SigningKey(bytes(32))).decode()),
        ("beacon", signed("task", parts["content"].encode(), key).decode().replace('"kind":"task"', '"kind":"beacon"')),
    ]  # fmt: skip
    return [{"kind": kind, "document": document} for kind, document in bad]


def uploads() -> Vector:
    """Tickets of a secret that everybody knows, and uploads of one and of two reports; and what is refused."""
    key = TicketKey(bytes(range(32)))
    tickets = [key.write(ONE_SHOT.digest, serial).to_bytes() for serial in (0, 1, (1 << 40) - 1)]
    batches_ = [bytes.fromhex(batch) for batch in batches()["good"]]
    one, two = (encoded_upload(map(TicketedReport, tickets[:count], batches_)) for count in (1, 2))
    bad = [
        b"", b"\1", b"\0" + one[1:], b"\2" + one[1:], one[:-1], one + b"\0", one[:20], one[:27],
        edited(one, 25, b"\xff"), two[:-3], edited(two, 28, b"\0"),
    ]  # fmt: skip
    return {
        "secret": bytes(range(32)).hex(), "task": ONE_SHOT.digest.hex(),
        "tickets": [ticket.hex() for ticket in tickets], "good": [one.hex(), two.hex()],
        "bad": [upload.hex() for upload in bad],
    }  # fmt: skip


def edited(data: bytes, place: int, new: bytes) -> bytes:
    """Return the data with other bytes from a place on."""
    return data[:place] + new + data[place + len(new) :]


FILES = {
    "thresholds.json": thresholds, "draws.json": draws, "tasks.json": tasks, "groups.json": groups,
    "domains.json": domains, "batches.json": batches, "signed_documents.json": signed_documents,
    "uploads.json": uploads, "walsh_hash.json": walsh_hash, "chunk_keys.json": chunk_keys,
    "item_lists.json": item_lists, "names.json": names,
}  # fmt: skip
