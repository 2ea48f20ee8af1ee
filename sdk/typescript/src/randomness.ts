/** Randomness on a device: bytes of the operating system, 64-bit words, uniform integers. */

import { bitLength, bytesNumber } from "./integers.js";

export const WORD_BITS = 64n;
export const WORD_BYTES = 8;
export const HALF = 1n << 63n;

/**
 * Returns that many fresh random bytes, which nobody can predict or replay: the operating system's, never those of a
 * seeded generator.
 */
export type Entropy = (count: number) => Uint8Array;

/** Return a uniform integer below a bound: as many bits as it needs, drawn again while they are too large. */
export function uniformBelow(bound: bigint, entropy: Entropy): bigint {
  const bits = bitLength(bound - 1n);
  const mask = (1n << BigInt(bits)) - 1n;
  for (;;) {
    const drawn = bytesNumber(entropy((bits + 7) >> 3)) & mask;
    if (drawn < bound) return drawn;
  }
}

/** Return so many 64-bit words, read at once. */
export function words(count: number, entropy: Entropy): BigUint64Array {
  const bytes = entropy(WORD_BYTES * count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return BigUint64Array.from({ length: count }, (_, index) => view.getBigUint64(WORD_BYTES * index));
}
