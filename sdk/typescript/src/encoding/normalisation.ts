/** Normalising texts on request, so that `Café ` and `café` are one item: before anything is hashed or looked up. */

export const STEPS = ["nfc", "casefold", "trim"];
/** The characters that Unicode calls White_Space: JavaScript's own `trim` takes others off. */
const WHITE_SPACE = "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const AT_THE_ENDS = new RegExp(`^${WHITE_SPACE}|${WHITE_SPACE}$`, "g");

/**
 * Fold the case of a text as Unicode does, which JavaScript cannot: through capitals, letter by letter, but for the
 * dotless i, which has none of its own, the capital ß, and Cherokee, whose capitals are the common form.
 */
export function casefold(text: string): string {
  return Array.from(text, (letter) => {
    if (letter === "\u0131" || letter === "\u1e9e") return letter === "\u0131" ? letter : "ss";
    const capital = letter.toUpperCase();
    return /\p{Script=Cherokee}/u.test(letter) ? capital : capital.toLowerCase();
  }).join("");
}

/** Return an item after these steps, whatever order they are named in; a text of white space alone stays as it is. */
export function normalisedItem(text: string, steps: readonly string[]): string {
  const [nfc, fold, trim] = STEPS.map((step) => steps.includes(step));
  let normalised = fold ? casefold(nfc ? text.normalize("NFD") : text) : text;
  if (nfc) normalised = normalised.normalize();
  return (trim && normalised.replace(AT_THE_ENDS, "")) || normalised;
}
