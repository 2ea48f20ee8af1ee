/** Items as bit strings: words, ids, text and hashed text. A code is an item's m-bit string read as an integer. */

import { utf8 } from "../bytes.js";
import { check } from "../errors.js";
import { bitLength, bytesNumber } from "../integers.js";
import { blake2b } from "./blake2b.js";

const SHORTEST = 8;
const LONGEST = 256;
const LONGEST_HASH_KEY = 64;
const HASH_BYTES = 64;

/** Return the code of an item, or null for one that does not fit. */
export type ItemCodec = (item: string) => bigint | null;

/** Letters a to z as the digits 1 to 26 of a bijective base-26 integer; as many first letters count as fit. */
function words(bits: number): ItemCodec {
  let letters = 0;
  for (let largest = 26n; largest >> BigInt(bits) === 0n; largest = 26n * (largest + 1n)) letters++;
  return (item) => {
    const word = item.toLowerCase();
    if (!/^[a-z]+$/.test(word)) return null;
    let code = 0n;
    for (const letter of word.slice(0, letters)) code = 26n * code + BigInt(letter.charCodeAt(0) - 96);
    return code;
  };
}

/** Integers that are not negative, in decimal digits. */
function ids(bits: number): ItemCodec {
  return (item) => {
    const code = /^[0-9]+$/.test(item) && item.length <= bits ? BigInt(item) : null;
    return code === null || code >> BigInt(bits) > 0n ? null : code;
  };
}

/** UTF-8 bytes, left-aligned and padded with zero bytes; long texts keep their first whole characters. */
function text(bits: number): ItemCodec {
  check((bits & 7) === 0, "question", "bits", "a multiple of 8", bits);
  const length = bits >> 3;
  return (item) => {
    const whole = utf8(item);
    let end = whole.length <= length ? whole.length : length;
    while (end < whole.length && (whole[end]! & 0xc0) === 0x80) end--; // the middle of a character
    const kept = whole.subarray(0, end);
    return kept.length === 0 || kept.includes(0) ? null : bytesNumber(kept) << BigInt(8 * (length - end));
  };
}

/** The first m bits of a keyed BLAKE2b of the UTF-8 bytes: every item fits. */
function hashed(bits: number, hashKey: string): ItemCodec {
  const key = utf8(hashKey);
  check(key.length >= 1 && key.length <= LONGEST_HASH_KEY, "question", "bytes of hash_key", "1 to 64", key.length);
  return (item) => bytesNumber(blake2b(utf8(item), key, HASH_BYTES)) >> BigInt(8 * HASH_BYTES - bits);
}

/** The place in a catalogue, in as many bits as its size takes; items that are not on it do not fit. */
export function listedItems(items: readonly string[], bits: number): ItemCodec {
  const wanted = bitLength(BigInt(items.length));
  check(bits === (wanted < SHORTEST ? SHORTEST : wanted), "question", "bits of a catalogue", wanted, bits);
  const places = new Map(items.map((item, place) => [item, BigInt(place)]));
  return (item) => places.get(item) ?? null;
}

const CODECS = new Map([["words", words], ["ids", ids], ["text", text], ["hashed", hashed]]);

/** Return the codec of that name for codes of m bits; behind a hash may stand chunks of the text's public code. */
export async function codecNamed(name: string, bits: number, hashKey: string, chunks = 0): Promise<ItemCodec> {
  const codec = CODECS.get(name);
  check(codec !== undefined && (chunks === 0 || codec === hashed), "question", "encoding", "a known one", name);
  check(bits >= SHORTEST && bits <= LONGEST, "question", "bits", "8 to 256", bits);
  const code = codec(bits, hashKey);
  if (chunks === 0) return code;
  const { chunksOf } = await import("./textCode.js");
  return (item) => (code(item)! << BigInt(8 * chunks)) | bytesNumber(chunksOf(utf8(item), chunks));
}
