/** The one way to write JSON down: keys sorted by code point, no spaces, ASCII. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

const MAX_DEPTH = 8;

/** Numbers that are not whole, or too large, and what is nested too deep, have no form: nothing stands in their place. */
export function canonicalJson(content: Json, depth = MAX_DEPTH): string {
  if (typeof content === "number" && !Number.isSafeInteger(content)) return "";
  if (content === null || typeof content !== "object") return JSON.stringify(content).replace(/[\x7f-\uffff]/g, escaped);
  if (depth === 0) return "";
  const below = (value: Json): string => canonicalJson(value, depth - 1);
  if (Array.isArray(content)) return `[${content.map(below).join(",")}]`;
  const entries = Object.entries(content as Record<string, Json>).sort(([one], [two]) => byCodePoint(one, two));
  return `{${entries.map(([name, value]) => `${below(name)}:${below(value)}`).join(",")}}`;
}

/** Without the flag u, the two surrogates of a character beyond U+FFFF are escaped one by one, as they must be. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Compare as Python does: JavaScript's own order is that of UTF-16 units, which puts U+1F600 before U+FFEE. */
export function byCodePoint(one: string, two: string): number {
  const [left, right] = [[...one], [...two]];
  for (let place = 0; place < left.length && place < right.length; place++) {
    const difference = left[place]!.codePointAt(0)! - right[place]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
