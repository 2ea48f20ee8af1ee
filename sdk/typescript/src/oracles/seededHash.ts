/** What OLH and walsh share: a seed of four bytes in the report, and the mixing of 64-bit words. */

export const SEED_BYTES = 4;
const LOW_64 = (1n << 64n) - 1n;

/** Return the word at a place, from 1 on, of the generator splitmix64 started at a seed. */
export function splitmix64(seed: bigint, place: bigint): bigint {
  let word = (seed + place * 0x9e3779b97f4a7c15n) & LOW_64;
  word = ((word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n) & LOW_64;
  word = ((word ^ (word >> 27n)) * 0x94d049bb133111ebn) & LOW_64;
  return word ^ (word >> 31n);
}
