"""Panorama with so few names and chunks that all its transcripts can be enumerated."""

from treetop.encoding.item_codecs import Hashed
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList


def tiny_panorama() -> Panorama:
    """Three listed texts; all other names are looked for, and their texts read."""
    return Panorama(CodeList.hashed([b"chai", b"latte", b"cocoa"], Hashed(8), 1, ordered=False))
