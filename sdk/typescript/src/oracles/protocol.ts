/** What a frequency oracle is on a device: all randomness first, then a report that is a function of draw and value. */

import type { Entropy } from "../randomness.js";
import type { Rational } from "../rational.js";
import { blake2b } from "../encoding/blake2b.js";
import { bytesNumber, numberBytes } from "../integers.js";

/** Candidates of the longest list, and the dummy. */
export const MAX_SLOTS = (1 << 22) + 1;
/** What a device without a code hashes: the largest key. */
export const NO_CODE_KEY = (1n << 64n) - 1n;

/** All randomness of one report, taken: returns the body of the report of a value. */
export type Draw = (value: bigint) => Uint8Array;

/** An oracle over d slots, the dummy counted, or over as many buckets as its budget gives. */
export interface DeviceFace {
  /** The number of its oracle in the envelope of a batch. */
  readonly tag: number;
  readonly slots: number;
  /** Bytes of a body: the same for every value. */
  readonly width: number;
  /** Take the randomness of one report, before the value is looked at. */
  draw(entropy: Entropy): Draw;
  /** Integers, as decimal digits, that a task must carry. */
  readonly taskThresholds?: Readonly<Record<string, string>>;
  /** Those that a published list must carry, because they depend on its length. */
  readonly listThresholds?: Readonly<Record<string, string>>;
}

export interface Oracle {
  readonly name: string;
  readonly tag: number;
  /** Whether a device answers with a slot of a published list; otherwise it hashes the key of its value. */
  readonly listed: boolean;
  /** Return the number of slots where the budget alone decides it: the buckets of a hash. */
  slotsFor(odds: Rational): number;
  device(odds: Rational, slots: number): DeviceFace;
}

/** Return 1, 2 or 4: the bytes that hold every integer below a number. */
export function smallestWidth(numbers: number): number {
  return numbers <= 1 << 8 ? 1 : numbers <= 1 << 16 ? 2 : 4;
}

/** Return the 64-bit key of a prefix: itself, or a digest where it is longer; one for all without a code. */
export function keyOf(prefix: bigint | null): bigint {
  if (prefix === null || prefix <= NO_CODE_KEY) return prefix ?? NO_CODE_KEY;
  return bytesNumber(blake2b(numberBytes(prefix, 32), new Uint8Array(), 8));
}
