"""Panorama with so few names and chunks that all its transcripts can be enumerated."""

from collections.abc import Mapping

from treetop.encoding.item_codecs import Hashed
from treetop.mechanisms.panorama.mechanism import Panorama
from treetop.mechanisms.panorama.texts import ListedNames


class TinyPanorama(Panorama):
    tiny_settings: Mapping[str, object] = {"bits": 8, "text_chunks": 1}


def tiny_panorama() -> TinyPanorama:
    """Three listed texts; all other names are looked for, and their texts read."""
    return TinyPanorama(ListedNames.hashed([b"chai", b"latte", b"cocoa"], Hashed(8), 1, ordered=False))
