"""Tasks, lists and items that the shipped device and fleet are driven with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from treetop.audit.shipped.recording_party import PARTY
from treetop.encoding.bit_strings import SHORTEST
from treetop.encoding.device_items import LONGEST_ITEM
from treetop.encoding.item_codecs import CODECS, codec_named
from treetop.encoding.normalisation import normalised
from treetop.encoding.text_code import chunks_of
from treetop.federation.campaign import Campaign
from treetop.federation.task import DeviceTask, Encoding, WeightedGroup
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, encoded_batch
from treetop.federation.wire.signed_documents import Publication, PublishedList, Question
from treetop.oracles.protocol import DeviceFace, Oracle, key_of
from treetop.oracles.registry import ORACLES, chosen_oracle, form_for_sets
from treetop.oracles.set_reports import HOLDERS, SetQuestion
from treetop.oracles.walsh.device import chunk_key, no_name
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Group

BITS = 16
TEXT_LENGTHS = (0, 24, 32, 40)
"""Of names of 24 bits, and of two chunks behind them."""
BUDGET = Budget("1")
KEPT = 4
"""Prefixes that a level keeps in the tasks of three levels."""
ALWAYS_ANSWERED = 17
"""Shorter lists a device may refuse, if it does so for every item."""

ITEMS: dict[str, bytes] = {
    "short": b"7",
    "digits": b"65535",
    "word": b"cherry",
    "text": "Äpfel, 2 kg".encode(),
    "empty": b"",
    "zero byte": b"a\0b",
    "long number": b"9" * 1_000,
    "long text": b"x" * 20_000,
    "not UTF-8": b"\xff\xfe7",
    "half a character": "Ä".encode()[:1],
}
"""What a user may hold: every encoding has a code for some of them and none for others."""
ENCODINGS = ("ids", "text", "words", "hashed")
READABLE = ("short", "digits", "word", "text", "empty", "long number")
ITEMS_PER_USER = 3
SETS: dict[str, tuple[bytes, ...]] = {
    "nothing": (),
    "one": (b"7",),
    "three": (b"7", b"65535", b"12"),
    "more": (b"7", b"65535", b"12", b"300", b"301"),
    "repeated": (b"7", b"12", b"7", b"7", b"12"),
    "not one with a code": (b"cherry", b"x" * 20_000, b"\xff\xfe7"),
    "some without a code": (b"7", b"cherry", b"\xff\xfe7", b"12"),
    "hundreds": tuple(b"%d" % n for n in range(300)),
}
"""What a user may hold where tasks are about sets."""


def as_text(item: bytes) -> str:
    """Return an item as commands and files give it to a device: what is not UTF-8 as lone surrogates."""
    return item.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, eq=False)
class Scene:
    """One task and, in rounds, the list of every group."""

    task: DeviceTask
    lists: Mapping[Group, PublishedList] = field(default_factory=dict)
    items: ItemList | None = None
    """The list that the task names."""
    campaign: Campaign | None = None
    """What the task is a week of."""

    def code(self, item: str) -> int | None:
        """Return the code of an item, by the public encoding of the task."""
        encoding = self.task.encoding
        encoded = codec_named(encoding.name, BITS, encoding.hash_key).encode([item])
        return int(encoded.codes[0]) if encoded.fits[0] else None

    def name_key(self, group: Group, item: str) -> int:
        """Return what a device that reports names hashes: its name, a chunk of the text behind it, or that of nobody.

        The item is looked up or hashed here, independently of the device's own codec.
        """
        bits = self.task.lengths[1]
        encoding = self.task.encoding
        if self.items is not None:
            return self.items.items.index(item) if item in self.items.items else no_name(bits)
        if encoding.name == "ids":
            return int(item) if item.isdigit() and int(item) < 1 << bits else no_name(bits)
        digest = blake2b(normalised(item, ("casefold",)).encode(), key=encoding.hash_key.encode()).digest()
        name = int.from_bytes(digest, "big") >> (8 * len(digest) - bits)
        chunk = group.level - 2
        if chunk < 0:
            return name
        return chunk_key(name, chunk, chunks_of(normalised(item, ("casefold",)).encode(), chunk + 1)[chunk], bits)

    def id_key(self, group: Group, item: str) -> int:
        """Return the key of one item of a set, which is an id or has no code."""
        if self.task.reports == "names":
            return self.name_key(group, item)
        known = item.isdigit() and int(item) < 1 << BITS
        return key_of(int(item) >> BITS - self.task.lengths[group.level] if known else None)

    def oracle_and_face(self, group: Group) -> tuple[Oracle, DeviceFace]:
        """Return what the devices of a group must answer through: from the rule and the length of the list alone."""
        if self.task.one_shot:
            oracle = ORACLES[self.task.oracle]
            form = oracle if self.task.sets is None else form_for_sets(oracle.name, self.task.sets.items_per_user)
            return oracle, form.device(BUDGET)
        slots = len(self.lists[group].question.prefixes) + 1
        oracle = chosen_oracle(self.task.oracle, BUDGET.odds_below, slots)
        return oracle, oracle.device(BUDGET, slots)

    def report(self, group: Group, item: str | Sequence[str], entropy: Entropy) -> bytes:
        """Return the report of an item or a set in a group, bytes and all, as these random bytes decide it."""
        oracle, face = self.oracle_and_face(group)
        if not isinstance(item, str):
            entries = {each[: LONGEST_ITEM + 1].encode("utf-8", "surrogatepass"): each for each in item}
            keys = {entry: self.id_key(group, each) for entry, each in entries.items()}
            about_set = Envelope(self.task.digest, group, NO_DOMAIN, oracle, face.slots)
            return encoded_batch(about_set, [face.draw(entropy).report(keys)])
        if self.task.reports == "names":
            named = Envelope(self.task.digest, group, NO_DOMAIN, oracle, face.slots)
            return encoded_batch(named, [face.draw(entropy).report(self.name_key(group, item))])
        code = self.code(item)
        length = self.task.lengths[group.level]
        prefix = None if code is None else code >> BITS - length
        if self.task.one_shot:
            domain = NO_DOMAIN
            held = key_of(prefix)
        else:
            question = self.lists[group].question
            domain = question.digest
            held = question.prefixes.index(prefix) if prefix in question.prefixes else len(question.prefixes)
        envelope = Envelope(self.task.digest, group, domain, oracle, face.slots)
        return encoded_batch(envelope, [face.draw(entropy).report(held)])


def three_levels(rule: str, encoding: str) -> Scene:
    """Return a task with several levels, the weights of which differ, and lists that hold some of the items."""
    lengths = (0, 8, 12, BITS)
    levels = (1, 2, 3)
    groups = tuple(WeightedGroup(Group(level), level) for level in levels)
    codec = Encoding(encoding, "audit" if CODECS[encoding].hashes else "")
    task = DeviceTask("audit", "audit", BUDGET, rule, 10, lengths, groups, encoding=codec, parties=(PARTY,))
    if task.one_shot:
        return Scene(task)
    codes = [Scene(task).code(ITEMS[name].decode()) for name in READABLE]
    held = [code for code in codes if code is not None]
    kept: dict[int, Sequence[int]] = {0: (0,)}
    for length in lengths[1:-1]:
        prefixes = [code >> BITS - length for code in held[:2]]
        kept[length] = sorted({*prefixes, *range(200, 200 + KEPT - len(set(prefixes)))})
    lists = {
        Group(level): _list(task, Group(level), Publication(lengths[level - 1], tuple(kept[lengths[level - 1]])))
        for level in levels
    }
    return Scene(task, lists)


def naming(rule: str) -> list[Scene]:
    """Return tasks that ask for names: texts with some of their chunks, ids, and indices in a catalogue."""
    known = ItemList(tuple(ITEMS[name].decode() for name in ("digits", "word", "long number")))
    cases = [(TEXT_LENGTHS, "hashed", None), ((0, BITS), "ids", None), ((0, SHORTEST), "catalogue", known)]
    return [
        Scene(
            DeviceTask(
                f"audit of names, {encoding}",
                "audit",
                BUDGET,
                rule,
                10,
                lengths,
                tuple(WeightedGroup(Group(level), level) for level in range(1, len(lengths))),
                encoding=Encoding(encoding, "audit", "casefold") if encoding == "hashed" else Encoding(encoding),
                reports="names",
                item_list="" if items is None else items.digest,
                parties=(PARTY,),
            ),
            items=items,
        )
        for lengths, encoding, items in cases
    ]


def about_sets(rule: str) -> list[Scene]:
    """Return tasks about sets of ids: prefixes at several levels, and names."""
    asked = SetQuestion(ITEMS_PER_USER, HOLDERS)
    scenes = [three_levels(rule, "ids"), naming(rule)[1]]
    return [Scene(replace(scene.task, name=f"{scene.task.name}, sets", sets=asked)) for scene in scenes]


def scenes_of(rule: str, encodings: Sequence[str]) -> list[Scene]:
    """Return tasks of a rule over some encodings, and where devices hash what they report, those that ask for names."""
    scenes = [three_levels(rule, encoding) for encoding in encodings]
    return [*scenes, *(naming(rule) if scenes[0].task.one_shot else ())]


def one_list(rule: str, slots: int) -> Scene:
    """Return a task whose devices are all asked about one list of d slots, the dummy counted; d is 5 at least."""
    group = Group(2)
    lengths = (0, 8, 9, BITS)
    task = DeviceTask(
        f"audit {slots}", "audit", BUDGET, rule, 10, lengths, (WeightedGroup(group, 1),), parties=(PARTY,)
    )
    published = Publication(8, tuple(range(3, 3 + slots // 2)))
    return Scene(task, {group: _list(task, group, published, (slots - 1) % 2)})


def _list(task: DeviceTask, group: Group, published: Publication, pruned: int = 0) -> PublishedList:
    step = task.lengths[group.level] - published.length
    children = [prefix << step | ending for prefix in published.prefixes for ending in range(1 << step)]
    asked = len(children) - pruned
    question = Question(task.digest, group, task.lengths[group.level], tuple(children[:asked]), tuple(children[asked:]))
    return PublishedList(PARTY, question, published)


def edge_words(face: DeviceFace) -> list[int]:
    """Return the words on either side of every threshold: one more or less would show in a report."""
    return [word for threshold in face.thresholds for word in (threshold - 1, threshold)]
