/** Randomness that is the same in every run: what it is made of is a text. */

import { createHash } from "node:crypto";
import type { Entropy } from "../../src/randomness.js";

export function fixed(seed: string): Entropy {
  let [block, pool, taken] = [0, new Uint8Array(), 0];
  return (count) => {
    if (taken + count > pool.length) {
      pool = new Uint8Array(createHash("shake256", { outputLength: count + 65536 }).update(`${seed} ${block++}`).digest());
      taken = 0;
    }
    taken += count;
    return pool.slice(taken - count, taken);
  };
}
