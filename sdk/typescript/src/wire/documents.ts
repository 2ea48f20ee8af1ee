/**
 * The one strict reader of documents that somebody else wrote: tasks, campaigns, candidate lists, beacons.
 *
 * A rule describes the fields of a document; whatever it does not describe is refused. Readers in every language check in
 * the same order (form, then field by field, in the order of their names), so that the same document gets the same code.
 */

import { fromUtf8 } from "../bytes.js";
import { TreetopError, type DocumentReason } from "../errors.js";
import { isName, isPublic } from "../publicText.js";
import { byCodePoint, canonicalJson, type Json } from "./canonicalJson.js";

/** Refuses a value unless it is as described. */
export type Rule = (value: unknown, what: string) => void;
type Rules = Readonly<Record<string, Rule>>;

/** Refuse a document unless a condition holds. */
export function need(holds: boolean, reason: DocumentReason, what: string): asserts holds {
  if (!holds) throw new TreetopError("question", `${what}: refused (${reason})`, `document_${reason}`);
}

/** Return whether a value is a whole number in a range. */
export const whole = (least: number, most: number): Rule => (value, what) => {
  need(Number.isInteger(value), "type", what);
  need((value as number) >= least && (value as number) <= most, "range", what);
};

export const text = (allowed: (text: string) => boolean): Rule => (value, what) => {
  need(typeof value === "string", "type", what);
  need(allowed(value), "range", what);
};

const matches = (pattern: RegExp): Rule => text((found) => pattern.test(found));
export const oneOf = (words: readonly string[]): Rule => text((found) => words.includes(found));
export const READABLE = text(isPublic);
export const NAME = text(isName);
export const ASCII = matches(/^[\0-\x7f]*$/);
export const DIGEST = matches(/^[0-9a-f]{64}$/);
/** A prefix of up to 256 bits, without needless zeros. */
export const CODE = matches(/^(0|[1-9a-f][0-9a-f]{0,63})$/);

/** Describe bytes in hexadecimal digits by how many there may be. */
export const hexBytes = (least: number, most: number | "" = ""): Rule => matches(RegExp(`^([0-9a-f]{2}){${least},${most}}$`));

/** Describe a list by its length and its entries: one rule for all of them, or one for each. */
export const rows = (rules: Rule | readonly Rule[], least: number, most: number): Rule => (value, what) => {
  need(Array.isArray(value), "type", what);
  need(value.length >= least && value.length <= most, "range", what);
  value.forEach((entry, place) => ("at" in rules ? rules[place]! : rules)(entry, what));
};

function keys(value: unknown, what: string): string[] {
  need(Object(value) === value && !Array.isArray(value), "type", what);
  return Object.keys(value as object).sort(byCodePoint);
}

/** Describe an object by its fields; it has no others. */
export const record = (required: Rules, optional: Rules = {}): Rule => (value, what) => {
  const rules = { ...required, ...optional };
  const names = keys(value, what);
  const known = names.every((name) => Object.hasOwn(rules, name)) && Object.keys(required).every((name) => names.includes(name));
  need(known, "fields", what);
  for (const name of names) rules[name]!((value as Record<string, unknown>)[name], name);
};

/** Describe an object whose names and values are texts that can be read. */
export const READABLE_TEXTS: Rule = (value, what) => {
  for (const name of keys(value, what)) {
    READABLE(name, what);
    READABLE((value as Record<string, unknown>)[name], what);
  }
};

/** Return what JSON in UTF-8 holds. */
export function parsed(document: Uint8Array, what: string): Json {
  try {
    return JSON.parse(fromUtf8(document) ?? "") as Json;
  } catch {
    return need(false, "form", what) as never;
  }
}

/** Return the content of a document in its canonical form, if it is as described. */
export function readDocument<Content>(document: Uint8Array, rule: Rule, what: string): Content {
  const content = parsed(document, what);
  need(canonicalJson(content) === fromUtf8(document), "form", what);
  rule(content, what);
  return content as Content;
}
