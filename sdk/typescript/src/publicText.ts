/** Texts that others write and people read: which characters they may hold, and how anything is shown. */

const LONGEST_NAME = 200;
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069" +
  "\\u00ad\\u180e\\u200b\\u2060-\\u2065\\u206a-\\u206f\\ufeff\\ufff9-\\ufffb" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e007f}\\ud800-\\udfff]", "gu",
);

/** Return a text for a person to read: characters that cannot be seen are written as escapes. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

export function isPublic(text: string): boolean {
  return text.search(HIDDEN) < 0;
}

/** Return whether a text can be the name of a party, a query or an attribute. */
export function isName(text: string): boolean {
  return text !== "" && [...text].length <= LONGEST_NAME && isPublic(text);
}
