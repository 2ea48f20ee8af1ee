/**
 * The list of known items that a task names by its digest: a catalogue, in which an item's place is its code. Loaded only
 * where a task asks about one.
 */

import { fromUtf8, hex, joined, sha256, utf8, type Digest } from "../bytes.js";
import { isName } from "../publicText.js";
import { LONGEST_ITEM } from "../encoding/deviceItems.js";
import { canonicalJson } from "./canonicalJson.js";

const LIST_DOMAIN = "treetop item list 1\0";
const MAX_JSON_BYTES = 1 << 28;
const MAX_ITEMS = 1 << 22;

/** Return the items of the list of that digest, or null for any other document: compressed JSON in its canonical form. */
export async function readItemList(document: Uint8Array, digest: Digest): Promise<readonly string[] | null> {
  const json = await decompressed(document);
  const longer = (await decompressed(document.subarray(0, -1))) !== null; // something stands behind the stream
  if (json === null || longer || !isFlat(json) || hex(await sha256(utf8(LIST_DOMAIN), json)) !== digest) return null;
  const text = fromUtf8(json) ?? "null";
  const { items, ordered, source } = { ...(JSON.parse(text) as object) } as { items: string[]; ordered: boolean; source: string };
  const known = Array.isArray(items) && items.length > 0 && items.length <= MAX_ITEMS && new Set(items).size === items.length &&
    items.every((item) => typeof item === "string" && item !== "" && !/\p{Surrogate}/u.test(item) && utf8(item).length <= LONGEST_ITEM) &&
    typeof ordered === "boolean" && isName(source) && canonicalJson({ items, ordered, source }) === text;
  return known ? items : null;
}

/** Return whether JSON is one object with one list, of no more values than a list may have: of 256 MiB of empty lists a parser would make gigabytes. */
function isFlat(json: Uint8Array): boolean {
  let [opened, values, inText] = [0, 0, false];
  for (let place = 0; place < json.length; place++) {
    const byte = json[place];
    if (byte === 0x22) inText = !inText;
    else if (inText) place += byte === 0x5c ? 1 : 0; // whatever stands behind a backslash
    else if (byte === 0x5b || byte === 0x7b) opened++;
    else if (byte === 0x2c) values++;
  }
  return opened === 2 && values < MAX_ITEMS + 2;
}

/** Return what a zlib stream holds; null for anything else, or for too much of it. */
async function decompressed(document: Uint8Array): Promise<Uint8Array | null> {
  try {
    const parts: Uint8Array[] = [];
    let left = MAX_JSON_BYTES;
    const reader = new Blob([document as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    for (let part; (part = (await reader.read()).value as Uint8Array | undefined); parts.push(part)) {
      if ((left -= part.length) < 0) return null;
    }
    return joined(...parts);
  } catch {
    return null;
  }
}
