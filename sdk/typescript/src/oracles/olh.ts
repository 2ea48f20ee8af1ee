/** OLH: k-RR over the d' buckets of a hash whose seed is drawn afresh. */

import { joined } from "../bytes.js";
import { bytesNumber, numberBytes, quotient } from "../integers.js";
import type { Rational } from "../rational.js";
import { drawSlot, keepThreshold } from "./krr.js";
import { smallestWidth, type DeviceFace, type Oracle } from "./protocol.js";
import { SEED_BYTES, splitmix64 } from "./seededHash.js";

const TAG = 3;
/** A bucket takes two bytes at most. */
export const MAX_BUCKETS = 1 << 16;
const LOW_32 = (1n << 32n) - 1n;

/** Return d' = ceil(e^eps + 1), 2^16 at most; e^eps is never a whole number, so its lower bound decides. */
export function bucketCount({ numerator, denominator }: Rational): number {
  const count = quotient(numerator, denominator) + 2n;
  return count < MAX_BUCKETS ? Number(count) : MAX_BUCKETS;
}

/** Return the bucket of a 64-bit key under a 32-bit seed, out of `count`. */
export function bucketOf(seed: bigint, key: bigint, count: number): bigint {
  const premixed = splitmix64(key, 1n);
  let mixed = ((seed ^ (premixed & LOW_32)) * 0x9e3779b1n) & LOW_32;
  mixed = (((mixed ^ (mixed >> 15n)) + (premixed >> 32n)) * 0x85ebca77n) & LOW_32;
  mixed = ((mixed ^ (mixed >> 13n)) * 0xc2b2ae3dn) & LOW_32;
  mixed ^= mixed >> 16n;
  return (mixed * BigInt(count)) >> 32n;
}

function hashFace(odds: Rational, slots: number): DeviceFace {
  const keep = keepThreshold(odds, slots);
  const bucketBytes = smallestWidth(slots);
  return {
    tag: TAG,
    slots,
    width: SEED_BYTES + bucketBytes,
    draw(entropy) {
      const seed = bytesNumber(entropy(SEED_BYTES));
      const reported = drawSlot(keep, slots, entropy);
      return (key) =>
        joined(numberBytes(seed, SEED_BYTES), numberBytes(reported(bucketOf(seed, key, slots)), bucketBytes));
    },
    taskThresholds: { keep: `${keep}`, buckets: `${slots}` },
  };
}

export const optimizedLocalHashing: Oracle = {
  name: "olh",
  tag: TAG,
  listed: false,
  slotsFor: bucketCount,
  device: hashFace,
};
