/** BLAKE2b (RFC 7693), sequential, with a key. Words of 64 bits are BigInts: a device hashes a few kilobytes. */

import { numberBytes, quotient } from "../integers.js";
import { joined } from "../bytes.js";

const BLOCK = 128;
const LOW_64 = (1n << 64n) - 1n;
/** The first 64 bits behind the point of the square roots of the first eight primes. */
const IV = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n].map((prime) => {
  let root = 1n << 67n; // above the root of prime * 2^128; Newton's steps come down to it
  for (let next = root; (next = (root + quotient(prime << 128n, root)) >> 1n) < root; ) root = next;
  return root & LOW_64;
});
/** The ten permutations of the message words, a hexadecimal digit for each; rounds 10 and 11 begin again. */
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
];
/** Which four words each of the eight mixings takes: columns, then diagonals. */
const MIXED = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"];
const MIXINGS = MIXED.map((digits) => [...digits].map((digit) => parseInt(digit, 16)) as [number, number, number, number]);
const ROUNDS = SIGMA.map((digits) => [...digits].map((digit) => parseInt(digit, 16)));

function rotated(word: bigint, by: bigint): bigint {
  return (word >> by) | ((word << (64n - by)) & LOW_64);
}

function compress(h: bigint[], block: Uint8Array, hashed: number, last: boolean): void {
  const view = new DataView(block.buffer, block.byteOffset, BLOCK);
  const m = Array.from({ length: 16 }, (_, index) => view.getBigUint64(8 * index, true));
  const v = [...h, ...IV];
  v[12]! ^= BigInt(hashed);
  if (last) v[14]! ^= LOW_64;
  for (const order of [...ROUNDS, ROUNDS[0]!, ROUNDS[1]!]) {
    MIXINGS.forEach(([a, b, c, d], index) => {
      v[a] = (v[a]! + v[b]! + m[order[2 * index]!]!) & LOW_64;
      v[d] = rotated(v[d]! ^ v[a], 32n);
      v[c] = (v[c]! + v[d]) & LOW_64;
      v[b] = rotated(v[b]! ^ v[c], 24n);
      v[a] = (v[a] + v[b] + m[order[2 * index + 1]!]!) & LOW_64;
      v[d] = rotated(v[d] ^ v[a], 16n);
      v[c] = (v[c] + v[d]) & LOW_64;
      v[b] = rotated(v[b] ^ v[c], 63n);
    });
  }
  for (let index = 0; index < 8; index++) h[index]! ^= v[index]! ^ v[index + 8]!;
}

/** Return the digest of some bytes under a key of 0 to 64 bytes. */
export function blake2b(data: Uint8Array, key: Uint8Array, digestBytes: number): Uint8Array {
  const h = [...IV];
  h[0]! ^= 0x01010000n | BigInt(key.length << 8) | BigInt(digestBytes);
  const keyed = key.length > 0 ? joined(key, new Uint8Array(BLOCK - key.length), data) : data;
  let start = 0;
  for (; start + BLOCK < keyed.length; start += BLOCK) compress(h, keyed.subarray(start, start + BLOCK), start + BLOCK, false);
  const final = new Uint8Array(BLOCK);
  final.set(keyed.subarray(start));
  compress(h, final, keyed.length, true);
  return joined(...h.map((word) => numberBytes(word, 8).reverse())).subarray(0, digestBytes);
}
