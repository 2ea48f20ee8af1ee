/** A report on its way to its party: with its ticket, and the verdict that comes back. */

import { fromHex, joined } from "../bytes.js";
import { check, type Code } from "../errors.js";
import { numberBytes } from "../integers.js";

const VERSION = 1;
export const SERIAL_BYTES = 8;
const TICKET_BYTES = 24;

/** What became of a report or an enrolment; only the first two mean that it counts, and one not named here is final. */
export type Verdict =
  | "accepted" | "replayed" | "malformed" | "unknown_task" | "ticket_forged" | "ticket_spent" | "wrong_group" | "wrong_list"
  | "not_enrolled" | "too_early" | "too_late" | "level_not_open" | "level_closed" | "enrolment_closed";

export function counts(verdict: Verdict): boolean {
  return verdict === "accepted" || verdict === "replayed";
}

/** Return whether the same bytes may be taken later. */
export function passing(verdict: Verdict): boolean {
  return verdict === "too_early" || verdict === "level_not_open";
}

/** Read the 48 hexadecimal digits of a ticket; whether it is authentic only its party can tell. */
export function readTicket(text: unknown): Uint8Array {
  const ticket = fromHex(text);
  check(ticket?.length === TICKET_BYTES, "input", "ticket", "48 hexadecimal digits");
  return ticket as Uint8Array;
}

export function encodedUpload(ticket: Uint8Array, batch: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined(Uint8Array.of(VERSION), ticket, numberBytes(batch.length, 4), batch);
}

const CODES: readonly Code[] = ["not_my_week", "budget_window", "budget_lifetime", "budget_task"];

/** Return whether a party is told a code; why a document is refused it is not. */
export function isTold(code: unknown): code is Code {
  return CODES.includes(code as Code);
}

/** What a device that may not answer tells its party: its ticket and a code, nothing else. */
export function encodedRefusal(ticket: Uint8Array, code: Code): Uint8Array<ArrayBuffer> {
  return joined(Uint8Array.of(VERSION), ticket, Uint8Array.of(CODES.indexOf(code)));
}
