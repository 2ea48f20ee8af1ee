/** OUE: one word for each position, compared with 1/2 at the true one and with q at the others. */

import { quotientAbove } from "../integers.js";
import { HALF, WORD_BITS, words } from "../randomness.js";
import type { Rational } from "../rational.js";
import { type DeviceFace, type Oracle } from "./protocol.js";

const TAG = 2;

/** Return ceil(2^64 q) for q = 1 / (e^eps + 1), from a lower bound of e^eps. */
export function flipThreshold({ numerator, denominator }: Rational): bigint {
  return quotientAbove(denominator << WORD_BITS, numerator + denominator);
}

function bitsFace(odds: Rational, slots: number): DeviceFace {
  const flip = flipThreshold(odds);
  const width = (slots + 7) >> 3;
  return {
    tag: TAG,
    slots,
    width,
    draw(entropy) {
      const drawn = words(slots, entropy);
      return (slot) => {
        const body = new Uint8Array(width); // position 0 in the highest bit of the first byte
        drawn.forEach((word, place) => {
          const set = word < (BigInt(place) === slot ? HALF : flip);
          body[place >> 3]! |= Number(set) << (7 - (place & 7));
        });
        return body;
      };
    },
    taskThresholds: { flip: `${flip}` },
  };
}

export const optimizedUnaryEncoding: Oracle = {
  name: "oue",
  tag: TAG,
  listed: true,
  slotsFor: () => 2,
  device: bitsFace,
};
