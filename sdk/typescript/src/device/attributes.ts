/**
 * When two names of an attribute are one: however they are spelt, if they look the same.
 *
 * Letters of another alphabet that only resemble the usual ones stay apart. A device refuses a name that is not its
 * own, so keeping names apart is the safe side.
 */

import { casefold } from "../encoding/normalisation.js";

const INVISIBLE = new RegExp(
  "\\p{C}|[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\ufe00-\\ufe0f\\uffa0\\u{e0100}-\\u{e01ef}]", "gu",
);

/** Return the spelling that is compared: NFKC, no capitals, nothing invisible, single spaces. */
export function normalised(attribute: string): string {
  for (let name = attribute; ; ) {
    const spaced = casefold(name.normalize("NFKC")).normalize("NFKC").replace(/[\s\u001c-\u001f\u0085]+/g, " ");
    const folded = spaced.replace(INVISIBLE, "").trim().replace(/ +/g, " ");
    if (folded === name) return name;
    name = folded;
  }
}
