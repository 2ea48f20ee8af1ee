"""How often a text is read from noisy chunks, as plans reckon with it.

Twenty walks at each signal. At the upper one the plan says a text is nearly always read: 15 of 20 are passed by a true
chance of 0.95 with a probability above 0.9997; at the lower one it says never, and at most 3 may be.
"""

from hashlib import blake2b

import numpy as np

from treetop.encoding.text_code import DEFAULT_CHUNKS, chunks_of, code_bits
from treetop.mechanisms.panorama.parameters import chunk_weights
from treetop.planning.modes import READ_CHANCES, READ_SIGNALS
from treetop.trie.text_recovery import log_likelihood_gains, recovered_text

WORDS = (b"isabella", b"michael", b"perhaps", b"building")
WALKS, READ_CHUNKS = 20, 5


def _read(signal: float) -> int:
    """Count the walks that find the text, if the reports of all its chunks together would stand that far out."""
    randomness = np.random.default_rng(3)
    single = signal * np.sqrt(chunk_weights(DEFAULT_CHUNKS))
    hits = 0
    for walk in range(WALKS):
        text = WORDS[walk % len(WORDS)]
        counts = randomness.standard_normal((DEFAULT_CHUNKS, 256))
        counts[np.arange(DEFAULT_CHUNKS), list(chunks_of(text))] += single
        code = blake2b(text, digest_size=3).digest()

        def accepts(tried: bytes, code: bytes = code) -> bool:
            return blake2b(tried, digest_size=3).digest() == code

        hits += recovered_text(log_likelihood_gains(counts, 1.0, single), accepts, 24) == text
    return hits


def test_texts_are_read_as_often_as_planned() -> None:
    assert all(-(-code_bits(text)[1] // 8) == READ_CHUNKS for text in WORDS)
    assert READ_CHANCES[-1] == 1.0
    assert _read(READ_SIGNALS[-1]) >= 15
    assert READ_CHANCES[1] < 0.05
    assert _read(READ_SIGNALS[1]) <= 3
