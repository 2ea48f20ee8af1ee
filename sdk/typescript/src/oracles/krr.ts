/** k-RR: one word decides whether the report is true, the lie is drawn in any case. */

import { numberBytes, quotient } from "../integers.js";
import { uniformBelow, WORD_BITS, words, type Entropy } from "../randomness.js";
import type { Rational } from "../rational.js";
import { smallestWidth, type DeviceFace, type Oracle } from "./protocol.js";

const TAG = 1;

/** Return floor(2^64 p) for p = e^eps / (d - 1 + e^eps), from a lower bound of e^eps. */
export function keepThreshold({ numerator, denominator }: Rational, slots: number): bigint {
  return quotient(numerator << WORD_BITS, BigInt(slots - 1) * denominator + numerator);
}

/** Draw for k-RR over d slots; return the reported slot of a true one. */
export function drawSlot(keep: bigint, slots: number, entropy: Entropy): (slot: bigint) => bigint {
  const [word] = words(1, entropy) as unknown as [bigint];
  const other = uniformBelow(BigInt(slots - 1), entropy);
  return (slot) => (word < keep ? slot : other + (other >= slot ? 1n : 0n));
}

function slotFace(odds: Rational, slots: number): DeviceFace {
  const keep = keepThreshold(odds, slots);
  const width = smallestWidth(slots);
  return {
    tag: TAG,
    slots,
    width,
    draw(entropy) {
      const reported = drawSlot(keep, slots, entropy);
      return (slot) => numberBytes(reported(slot), width);
    },
    listThresholds: { keep: `${keep}` },
  };
}

export const kRandomizedResponse: Oracle = {
  name: "krr",
  tag: TAG,
  listed: true,
  slotsFor: () => 2,
  device: slotFace,
};
