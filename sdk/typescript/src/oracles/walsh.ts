/** Walsh hashing: a seed gives s masks and a shift, and the hash of a key is one parity for each mask. */

import { joined } from "../bytes.js";
import { bytesNumber, numberBytes, quotient } from "../integers.js";
import { uniformBelow, WORD_BITS, words } from "../randomness.js";
import type { Rational } from "../rational.js";
import { smallestWidth, type DeviceFace, type Oracle } from "./protocol.js";
import { SEED_BYTES, splitmix64 } from "./seededHash.js";

const TAG = 4;
/** An outcome takes one byte. */
const MAX_OUTCOMES = 256;

/** Return g = 2^s for the s of 1 to 8 with the least variance, that is the least (L + g - 1)^2 / (g - 1). */
export function outcomeCount({ numerator, denominator }: Rational): number {
  const root = (g: number): bigint => numerator + BigInt(g - 1) * denominator;
  let best = 2;
  for (let g = 4; g <= MAX_OUTCOMES; g *= 2) {
    if (root(g) * root(g) * BigInt(best - 1) < root(best) * root(best) * BigInt(g - 1)) best = g;
  }
  return best;
}

/** Return floor(2^64 (L - 1) / (L - 1 + g)), L below e^eps: rounded down, so that the ratio is at most e^eps. */
export function walshKeepThreshold({ numerator, denominator }: Rational, slots: number): bigint {
  const overOne = numerator - denominator;
  return quotient(overOne << WORD_BITS, overOne + BigInt(slots) * denominator);
}

/** Return the outcome of a 64-bit key under a seed: bit j is the parity of mask j + 1, shifted by that of r. */
export function outcomeOf(seed: bigint, key: bigint, slots: number): bigint {
  let outcome = splitmix64(seed, 1n) & BigInt(slots - 1);
  for (let place = 0; 1 << place < slots; place++) {
    let meet = splitmix64(seed, BigInt(place + 2)) & key;
    for (let shift = 32n; shift > 0n; shift >>= 1n) meet ^= meet >> shift;
    outcome ^= (meet & 1n) << BigInt(place);
  }
  return outcome;
}

/** Return the b-bit key by which a device reports the value of one chunk of the text behind its name. */
export function chunkKey(name: bigint, chunk: number, value: number, bits: number): bigint {
  const start = (((BigInt(chunk + 1) << 8n) | BigInt(value)) << BigInt(bits)) | name;
  return splitmix64(start, 1n) >> BigInt(64 - bits);
}

function parityFace(odds: Rational, slots: number): DeviceFace {
  const keep = walshKeepThreshold(odds, slots);
  const outcomeBytes = smallestWidth(slots);
  return {
    tag: TAG,
    slots,
    width: SEED_BYTES + outcomeBytes,
    draw(entropy) {
      const seed = bytesNumber(entropy(SEED_BYTES));
      const [word] = words(1, entropy) as unknown as [bigint];
      const other = uniformBelow(BigInt(slots), entropy);
      return (key) =>
        joined(numberBytes(seed, SEED_BYTES), numberBytes(word < keep ? outcomeOf(seed, key, slots) : other, outcomeBytes));
    },
    taskThresholds: { keep: `${keep}`, outcomes: `${slots}` },
  };
}

export const walshHashing: Oracle = {
  name: "walsh",
  tag: TAG,
  listed: false,
  slotsFor: outcomeCount,
  device: parityFace,
};
