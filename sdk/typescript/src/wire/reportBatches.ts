/** Batches of reports as bytes: one envelope, then bodies of equal length (docs/explanation/wire_protocol.md). */

import { fromHex, joined, type Digest } from "../bytes.js";
import { numberBytes } from "../integers.js";
import { ROLES, type Group } from "./groups.js";

export const VERSION = 1;
/** Stands for the digest of a candidate list where there is none: one-shot tasks. */
export const NO_DOMAIN: Digest = "0".repeat(64);

/** What all reports of a batch have in common; all of it is public. */
export interface Envelope {
  readonly task: Digest;
  readonly group: Group;
  readonly domain: Digest;
  /** The number of the oracle. */
  readonly tag: number;
  /** d of k-RR and OUE, the dummy counted; d' of OLH; g of walsh. */
  readonly slots: number;
}

export function encodedBatch({ task, group: [level, role], domain, tag, slots }: Envelope, ...bodies: readonly Uint8Array[]): Uint8Array {
  return joined(
    numberBytes(VERSION, 1), fromHex(task)!, numberBytes(level, 2), numberBytes(ROLES.indexOf(role), 1), fromHex(domain)!,
    numberBytes(tag, 1), numberBytes(slots, 4), numberBytes(bodies.length, 4), ...bodies,
  );
}
