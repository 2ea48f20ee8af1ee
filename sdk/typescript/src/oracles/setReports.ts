/**
 * One report of a whole set: the set form of OLH and walsh.
 *
 * The device takes T, at most m of its items, hashes what it is asked about each into one of t buckets, and reports one
 * bucket: each of the h that it found with probability e^eps / Omega, Omega = m e^eps + t - m, while the t - h others
 * share the rest evenly. Key, seed and word are drawn before the set is read; which items are T is kept nowhere.
 */

import { hex, joined, sha256 } from "../bytes.js";
import { bytesNumber, numberBytes, quotient } from "../integers.js";
import { WORD_BITS, words, type Entropy } from "../randomness.js";
import type { Rational } from "../rational.js";
import { bucketCount, bucketOf, MAX_BUCKETS, optimizedLocalHashing } from "./olh.js";
import { smallestWidth } from "./protocol.js";
import { SEED_BYTES } from "./seededHash.js";
import { outcomeCount, outcomeOf, walshHashing } from "./walsh.js";

/** The largest m: beyond it a report says too little of each item. */
const MAX_ITEMS = 64;
const MAX_OUTCOMES = 4096;
/** Of the key by which a device chooses among its items. */
const KEY_BYTES = 32;
const WORDS = 1n << WORD_BITS;

/** What a device holds: its items as bytes, and of each the 64-bit key of what it is asked about it, looked up late. */
export type Held = readonly (readonly [entry: Uint8Array, key: () => bigint])[];

/** All randomness of one report, taken: returns the body of the report of a set; `chosen` is T. */
export interface SetDraw {
  (held: Held): Promise<Uint8Array>;
  chosen(held: Held): Promise<Held>;
}

export interface SetFace {
  readonly tag: number;
  readonly slots: number;
  readonly width: number;
  /** A, how many of 2^64 words report a bucket of one's own, t and m. */
  readonly taskThresholds: Readonly<Record<"own" | "buckets" | "items", string>>;
  draw(entropy: Entropy): SetDraw;
}

/** Return the largest A with A <= 2^64 L / Omega and A <= L floor((2^64 - m A) / (t - m)), L below e^eps. */
function ownWeight({ numerator, denominator }: Rational, slots: number, items: number): bigint {
  const [m, others] = [BigInt(items), BigInt(slots - items)];
  let [A, tooMany] = [0n, quotient(WORDS * numerator, m * numerator + others * denominator) + 1n];
  while (tooMany - A > 1n) {
    const middle = (A + tooMany) >> 1n;
    if (middle * denominator <= numerator * quotient(WORDS - m * middle, others)) A = middle;
    else tooMany = middle;
  }
  return A;
}

/** Return t = round(2 m - 1 + m e^eps), 2^16 at most; for one item the d' of OLH. */
function setBuckets(odds: Rational, items: number): number {
  if (items === 1) return bucketCount(odds);
  const { numerator, denominator } = odds;
  const twice = 2n * (BigInt(2 * items - 1) * denominator + BigInt(items) * numerator) + denominator;
  const t = quotient(twice, 2n * denominator);
  return t < MAX_BUCKETS ? Number(t) : MAX_BUCKETS;
}

/** Return the t = 2^s > m with the least variance, (t - 1) (m L + t - m)^2 / (t - m)^2 but for a factor. */
function setOutcomes(odds: Rational, items: number): number {
  if (items === 1) return outcomeCount(odds);
  const { numerator, denominator } = odds;
  const root = (t: number): bigint => BigInt(items) * numerator + BigInt(t - items) * denominator;
  const above = (t: number): bigint => BigInt(t - 1) * root(t) * root(t);
  const below = (t: number): bigint => BigInt(t - items) * BigInt(t - items);
  let t = 1;
  while (t <= items) t *= 2;
  for (let next = 2 * t; next <= MAX_OUTCOMES; next *= 2) if (above(next) * below(t) < above(t) * below(next)) t = next;
  return t;
}

/** What is asked of devices that hold sets: how many items a report speaks of at most, and what its counts estimate. */
export interface SetQuestion {
  /** m. */
  readonly items_per_user: number;
  readonly reading: "holders" | "shares" | "use_shares";
}

/** Return how a device answers about a set, or throw where that cannot be asked; readers of tasks say so. */
export function setFace(oracle: string, odds: Rational, question: SetQuestion): SetFace {
  const { items_per_user: items, reading, ...more } = question;
  const most = reading === "holders" ? MAX_ITEMS : ["shares", "use_shares"].includes(reading) ? 1 : 0;
  const known = ["olh", "walsh"].includes(oracle) && Number.isInteger(items) && items >= 1 && items <= most;
  if (!known || Object.keys(more).length > 0) throw new Error("sets that cannot be asked about");
  const [tag, slots, hashed] = oracle === "olh"
    ? [optimizedLocalHashing.tag, setBuckets(odds, items), bucketOf] : [walshHashing.tag, setOutcomes(odds, items), outcomeOf];
  const own = ownWeight(odds, slots, items);
  const bucketBytes = smallestWidth(slots);

  /** Return the reported bucket, given the h distinct ones of T in ascending order. */
  function bucketFor(word: bigint, found: readonly bigint[]): bigint {
    const mine = BigInt(found.length) * own;
    if (word < mine) return found[Number(quotient(word, own))]!;
    const others = BigInt(slots - found.length);
    return found.reduce((bucket, each) => bucket + (bucket >= each ? 1n : 0n), quotient((word - mine) * others, WORDS - mine));
  }

  return {
    tag,
    slots,
    taskThresholds: { own: `${own}`, buckets: `${slots}`, items: `${items}` },
    width: SEED_BYTES + bucketBytes,
    draw(entropy) {
      const key = entropy(KEY_BYTES);
      const seed = bytesNumber(entropy(SEED_BYTES));
      const [word] = words(1, entropy) as unknown as [bigint];
      const chosen = async (held: Held): Promise<Held> => {
        const marked = await Promise.all(held.map(async (each) => [hex(await sha256(key, each[0])), each] as const));
        return marked.sort(([one], [two]) => (one < two ? -1 : 1)).slice(0, items).map(([, each]) => each);
      };
      const report = async (held: Held): Promise<Uint8Array> => {
        const found = new Set((await chosen(held)).map(([, keyOfItem]) => hashed(seed, keyOfItem(), slots)));
        const bucket = bucketFor(word, [...found].sort((one, two) => (one < two ? -1 : 1)));
        return joined(numberBytes(seed, SEED_BYTES), numberBytes(bucket, bucketBytes));
      };
      return Object.assign(report, { chosen });
    },
  };
}
