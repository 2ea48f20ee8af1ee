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

/** What a device that may not answer tells its party: public facts and its own history, nothing of a value. */
export type Code = "not_my_week" | "budget_task" | "budget_window" | "budget_lifetime";

/**
 * Why a document is refused: not in its canonical form; fields missing or unknown; of another type; out of bounds; fields
 * that cannot be asked together; of another kind or not signed by a pinned key; of another task, party, group or campaign.
 * All of it is public and settled before the item is read, so it says nothing about the item; it is told to nobody.
 */
export type DocumentReason = "form" | "fields" | "type" | "range" | "meaning" | "signature" | "other";
export type DocumentCode = `document_${DocumentReason}`;

const LONGEST_SHOWN = 400;

const NAME = "TreetopError";

export class TreetopError extends Error {
  override readonly name = NAME;

  /** Files that are loaded when a task needs them have a copy of this class: an error of theirs is one, too. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return (error as Error | null)?.name === NAME;
  }

  constructor(readonly kind: Kind, message: string, readonly code?: Code | DocumentCode) {
    super(visible(message.slice(0, LONGEST_SHOWN)));
  }
}

/** Refuse unless a condition holds: the message says what was expected and, where it can be shown, what was found. */
export function check(holds: boolean, kind: Kind, what: string, expected: unknown, found?: unknown): asserts holds {
  if (holds) return;
  const shown = Object(found) === found ? null : found; // an object of a peer's may refuse to become a text
  throw new TreetopError(kind, `${what}: expected ${expected}, found ${shown ?? "something else"}`);
}
