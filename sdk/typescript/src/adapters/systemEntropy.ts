/** The operating system's randomness, fetched by the pool; no byte is handed out twice or kept. */

import type { Entropy } from "../randomness.js";

const POOL_BYTES = 4096;
/** The most that `crypto.getRandomValues` returns at once. */
const MOST_AT_ONCE = 65536;

export function systemEntropy(): Entropy {
  let pool = new Uint8Array();
  let taken = 0;
  return (count) => {
    if (taken + count > pool.length) {
      pool = new Uint8Array(count + POOL_BYTES);
      taken = 0;
      for (let start = 0; start < pool.length; start += MOST_AT_ONCE) {
        crypto.getRandomValues(pool.subarray(start, start + MOST_AT_ONCE));
      }
    }
    const bytes = pool.slice(taken, taken + count);
    pool.fill(0, taken, (taken += count));
    return bytes;
  };
}
