"""Panorama with so few names and chunks that all its transcripts can be enumerated."""

from treetop.encoding.item_codecs import Hashed
from treetop.mechanisms.panorama.mechanism import Panorama
from treetop.mechanisms.panorama.texts import ListedNames


def tiny_panorama() -> Panorama:
    """Three listed texts; all other names are looked for, and their texts read."""
    return Panorama(ListedNames.hashed([b"chai", b"latte", b"cocoa"], Hashed(8), 1, ordered=False))
