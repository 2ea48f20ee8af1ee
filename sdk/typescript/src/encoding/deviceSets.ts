/** What a device makes of the set of its items: the bytes by which some of them are chosen, and their codes. */

import { hex, joined, utf8 } from "../bytes.js";
import { itemCode, LONGEST_ITEM, readableText } from "./deviceItems.js";
import type { ItemCodec } from "./itemCodecs.js";
import { normalisedItem } from "./normalisation.js";
import type { SetQuestion } from "../oracles/setReports.js";

/** Items of a set that a device looks at, and uses where these count: the first ones. */
const LARGEST_SET = 65536;

/** A device's set: its items as bytes, and of each its code, or null, which is computed when a report speaks of it. */
export type OwnItems = readonly (readonly [entry: Uint8Array, code: () => bigint | null])[];

/**
 * Return a device's set. Items that are the same once normalised are one; where uses count, every use stands for itself.
 * Whatever the set, the codec is called for as many items as a report speaks of: at once for those that it lacks.
 */
export function deviceSet(codec: ItemCodec, held: unknown, steps: readonly string[], { reading, items_per_user }: SetQuestion): OwnItems {
  const entries = new Map<string, OwnItems[number]>();
  const items: unknown[] = Array.isArray(held) ? held : [held];
  items.slice(0, LARGEST_SET).forEach((item, number) => {
    const text = readableText(item);
    const known = text === null ? null : normalisedItem(text, steps);
    const bytes = known === null ? unreadable(item) : utf8(known);
    const entry = reading === "use_shares" ? joined(bytes, utf8(`\0${number}`)) : bytes;
    entries.set(hex(entry), [entry, () => itemCode(codec, known)]);
  });
  for (let lacking = items_per_user - entries.size; lacking > 0; lacking--) itemCode(codec, null);
  return [...entries.values()];
}

/** An item without a text is known by its first bytes. */
function unreadable(item: unknown): Uint8Array {
  return item instanceof Uint8Array ? item.slice(0, LONGEST_ITEM + 1) : utf8(String(item).slice(0, LONGEST_ITEM + 1));
}
