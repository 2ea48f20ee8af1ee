/**
 * What a device makes of its own item, whatever it is: a code, or null, which is answered "none of these".
 *
 * An item has no code if it is not UTF-8, has more than 4,096 bytes, does not fit the encoding, or makes the codec
 * fail. None of this may silence a device.
 */

import { fromUtf8, utf8 } from "../bytes.js";
import type { ItemCodec } from "./itemCodecs.js";
import { normalisedItem } from "./normalisation.js";

export const LONGEST_ITEM = 4096;

/** Return the code of an item after some steps of normalising. */
export function deviceCode(codec: ItemCodec, item: unknown, steps: readonly string[] = []): bigint | null {
  const text = readableText(item);
  return itemCode(codec, text === null ? null : normalisedItem(text, steps));
}

/** Return the code of a text, or null for none; the codec is always given 4,096 bytes, so that its time says little. */
export function itemCode(codec: ItemCodec, text: string | null): bigint | null {
  const filler = "a".repeat(LONGEST_ITEM).slice(utf8(text ?? "").length);
  const [code] = [text ?? "", filler].map((each) => {
    try {
      return codec(each);
    } catch {
      return null;
    }
  }) as [bigint | null];
  return text === null ? null : code;
}

/** Return an item if it is a text that a device reads; no more of a longer one is looked at. */
export function readableText(item: unknown): string | null {
  const start = item instanceof Uint8Array ? fromUtf8(item.subarray(0, LONGEST_ITEM + 1)) : item;
  if (typeof start !== "string") return null;
  const text = start.slice(0, LONGEST_ITEM + 1);
  return utf8(text).length <= LONGEST_ITEM && !/\p{Surrogate}/u.test(text) ? text : null;
}
