/**
 * What a device makes of its own item, whatever it is: a code, or null, which is answered "none of these".
 *
 * An item has no code if it is not UTF-8, has more than 4,096 bytes, does not fit the encoding, or makes the codec
 * fail. None of this may silence a device.
 */

import { fromUtf8, utf8 } from "../bytes.js";
import { normalisedItem } from "./normalisation.js";
import type { ItemCodec } from "./itemCodecs.js";

export const LONGEST_ITEM = 4096;

/** Return the code of an item after some steps of normalising; the codec is always given 4,096 bytes, so that its time does not grow with the item. */
export function deviceCode(codec: ItemCodec, item: unknown, steps: readonly string[] = []): bigint | null {
  const known = readableText(item);
  const filler = "a".repeat(LONGEST_ITEM - utf8(known ?? "").length);
  const [code] = [known ?? "", filler].map((text) => coded(codec, normalisedItem(text, steps))) as [bigint | null];
  return known === null ? null : code;
}

function coded(codec: ItemCodec, text: string): bigint | null {
  try {
    return codec(text);
  } catch {
    return null;
  }
}

/** Return the item if it is a text that a device reads; no more of a longer one is looked at. */
function readableText(item: unknown): string | null {
  const start = item instanceof Uint8Array ? fromUtf8(item.subarray(0, LONGEST_ITEM + 1)) : item;
  if (typeof start !== "string") return null;
  const text = start.slice(0, LONGEST_ITEM + 1);
  return utf8(text).length <= LONGEST_ITEM && !/\p{Surrogate}/u.test(text) ? text : null;
}
