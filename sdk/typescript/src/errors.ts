/** Everything that a device refuses, in one line for the person who asked. */

import { visible } from "./publicText.js";

/**
 * What kind of refusal it is.
 *
 * - `input`: the caller's mistake
 * - `peer`: the party or the server broke the protocol
 * - `question`: a task or list that this device does not answer, for reasons that are public
 * - `budget`: an answer that would cost more than the owner allows
 * - `promise`: a step that would have made the device answer twice
 * - `ledger`: a ledger that is damaged, older than remembered, or held by another
 * - `value`: the device could not read its own value
 * - `refused`: the party does not take the report
 * - `later`: the party is not ready yet; the same call may succeed later
 * - `away`: the party does not answer
 */
export type Kind =
  | "input" | "peer" | "question" | "budget" | "promise" | "ledger" | "value" | "refused" | "later" | "away";

const LONGEST_SHOWN = 400;

export class TreetopError extends Error {
  override readonly name = "TreetopError";

  constructor(readonly kind: Kind, message: string) {
    super(visible(message.slice(0, LONGEST_SHOWN)));
  }
}

/** Refuse unless a condition holds: the message says what was expected and, where it can be shown, what was found. */
export function check(holds: boolean, kind: Kind, what: string, expected: unknown, found?: unknown): asserts holds {
  if (holds) return;
  const shown = Object(found) === found ? null : found; // an object of a peer's may refuse to become a text
  throw new TreetopError(kind, `${what}: expected ${expected}, found ${shown ?? "something else"}`);
}
