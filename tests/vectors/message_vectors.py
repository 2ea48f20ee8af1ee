"""The vectors of what parties of Panorama send; `generate.py` writes them."""

from typing import Any

import numpy as np

from treetop.mechanisms.panorama.discovery import ConspicuousCodes
from treetop.mechanisms.strict_json import packed_text
from treetop.mechanisms.wire.panorama import FirstCounts, SupportWanted, UploadReader
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.quantised_counts import QuantisedCounts

BITS, USERS, KINDS, LISTED, TAU = 10, 1_000, (700, 200, 100), np.array([3, 77, 500], dtype=np.uint64), 2.5
ORACLE = oracle_named("walsh", Epsilon(2), 1 << BITS)
WANTED = SupportWanted(np.array([3, 500, 12], dtype=np.uint64), np.array([[1, 2], [3, 4]], dtype=np.uint8))


def reader(signed: bool) -> UploadReader:
    return UploadReader(BITS, USERS, ORACLE, signed)


def read(kind: str, content: Any, signed: bool) -> Any:
    """Run by the server: an upload of some kind, as Python values."""
    if kind == "first":
        found = reader(signed).first(content, KINDS, LISTED, TAU)
        return {
            "kinds": list(found.kinds), "listed": found.listed.values.tolist(), "names": found.others.codes.tolist(),
            "steps": found.others.steps.tolist(), "bits": found.bits,
        }  # fmt: skip
    if kind == "counts":
        return {"counts": reader(signed).counts(content["counts"], 4, KINDS[0]).values.tolist()}
    if kind == "chunks":
        chunks = reader(signed).chunk_counts(content, 1, (700, 200, 0)).chunks
        return {"chunks": [np.flatnonzero(chunk.values).tolist() for chunk in chunks]}
    findings = reader(signed).findings(content, WANTED, KINDS)
    return {"names": findings.estimates.prefixes.tolist(), "reports": findings.heavy_hitters.reports}


def vectors() -> Any:
    listed = {False: [0, 2, 31], True: [0, -2, 31]}
    others = ConspicuousCodes(np.array([1, 12, 1000], dtype=np.uint64), np.array([0, 3, 11]), 1 << BITS)
    good = []
    for signed, values in listed.items():
        first = FirstCounts(KINDS, QuantisedCounts(np.array(values), 1.0, signed), others).to_json()
        counts = {"counts": packed_text(QuantisedCounts(np.array([1, 0, 20, 21]), 1.0, signed).to_bytes())}
        good += [("first", first, signed), ("counts", counts, signed)]
    chunk = QuantisedCounts(np.where(np.arange(256) == 65, 9, 0), 1.0).to_bytes()
    good += [("chunks", {"chunks": [packed_text(chunk), ""]}, False)]
    good += [("findings", {"support": [900, 10, 300], "outside": 70}, False)]
    first, counts, chunks, findings = (content for kind, content, signed in (good[0], good[1], good[4], good[5]))
    bad = [
        ("first", None), ("first", {}), ("first", {**first, "more": 1}), ("first", {**first, "kinds": [701, 200, 100]}),
        ("first", {**first, "kinds": [700, 200]}), ("first", {**first, "kinds": [0, 0, 0]}),
        ("first", {**first, "listed": first["listed"][4:]}), ("first", {**first, "listed": "??"}),
        ("first", {**first, "others": [2, first["others"][1]]}), ("first", {**first, "others": [1 << 10, ""]}),
        ("first", {**first, "others": None}), ("counts", {"counts": ""}),
        ("counts", {"counts": counts["counts"] + "AAAA"}),
        ("chunks", {"chunks": [chunks["chunks"][0]]}), ("chunks", {"chunks": ["", ""]}),
        ("chunks", {"chunks": [chunks["chunks"][0], "AA=="]}), ("findings", {**findings, "support": [1001, 10, 300]}),
        ("findings", {**findings, "support": [900, 10, 701]}), ("findings", {**findings, "support": [900, 10]}),
        ("findings", {**findings, "outside": -1}), ("findings", {"support": [900, 10, 300]}),
    ]  # fmt: skip
    return {
        "bits": BITS, "users": USERS, "kinds": KINDS, "listed": LISTED.tolist(), "tau": str(TAU), "epsilon": 2,
        "good": [
            {"kind": kind, "signed": signed, "content": content, "read": read(kind, content, signed)}
            for kind, content, signed in good
        ],
        "bad": [{"kind": kind, "content": content} for kind, content in bad],
    }  # fmt: skip


FILES = {"panorama_messages.json": vectors}
