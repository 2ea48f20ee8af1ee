/** Batches taken apart again, as a party does it, to show a person what a report says. */

import { hex } from "../bytes.js";
import { check } from "../errors.js";
import { bytesNumber } from "../integers.js";
import { MAX_BUCKETS } from "../oracles/olh.js";
import { MAX_SLOTS } from "../oracles/protocol.js";
import { oracleTagged } from "../oracles/registry.js";
import { SEED_BYTES } from "../oracles/seededHash.js";
import { rational } from "../rational.js";
import { ROLES } from "./groups.js";
import { NO_DOMAIN, VERSION, type Envelope } from "./reportBatches.js";

export const ENVELOPE_BYTES = 77;
const MAX_REPORTS = 1 << 20;
const MAX_OUTCOMES = 4096;

interface Form {
  readonly hasSlots: (slots: number) => boolean;
  /** Whether a body of the right width is one that a device writes. */
  readonly readable: (body: Uint8Array, slots: number) => boolean;
}

const FORMS: Readonly<Record<string, Form>> = {
  krr: { hasSlots: (slots) => slots <= MAX_SLOTS, readable: (body, slots) => bytesNumber(body) < slots },
  oue: {
    hasSlots: (slots) => slots <= MAX_SLOTS,
    readable: (body, slots) => (body.at(-1)! & ((1 << (8 * body.length - slots)) - 1)) === 0, // the bits left over
  },
  olh: {
    hasSlots: (slots) => slots <= MAX_BUCKETS,
    readable: (body, slots) => bytesNumber(body.subarray(SEED_BYTES)) < slots,
  },
  walsh: {
    hasSlots: (slots) => slots <= MAX_OUTCOMES && (slots & (slots - 1)) === 0,
    readable: (body, slots) => bytesNumber(body.subarray(SEED_BYTES)) < slots,
  },
};

export interface Batch {
  readonly envelope: Envelope;
  readonly bodies: readonly Uint8Array[];
}

/** Read a batch; anything that a party refuses is refused. */
export function decodedBatch(data: Uint8Array): Batch {
  check(data.length >= ENVELOPE_BYTES, "peer", "bytes of a batch", `${ENVELOPE_BYTES} at least`, data.length);
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const [version, level, role] = [view.getUint8(0), view.getUint16(33), ROLES[view.getUint8(35)]];
  const [domain, tag, slots, count] = [hex(data.slice(36, 68)), view.getUint8(68), view.getUint32(69), view.getUint32(73)];
  check(version === VERSION, "peer", "version", VERSION, version);
  check(level >= 1 && role !== undefined, "peer", "group", "a level and a role");
  const oracle = oracleTagged(tag);
  check(oracle !== undefined, "peer", "oracle", "a known one", tag);
  const { hasSlots, readable } = FORMS[oracle.name]!;
  check(slots >= 2 && hasSlots(slots), "peer", "slots", "as many as the oracle may have", slots);
  check(oracle.listed === (domain !== NO_DOMAIN), "peer", "domain digest", "one unless hashed", "otherwise");
  const { width } = oracle.device(rational(1n), slots);
  const bodies = data.subarray(ENVELOPE_BYTES);
  check(count >= 1 && count <= MAX_REPORTS, "peer", "reports", `from 1 to ${MAX_REPORTS}`, count);
  check(bodies.length === count * width, "peer", "bytes of bodies", count * width, bodies.length);
  const cut = Array.from({ length: count }, (_, place) => bodies.slice(place * width, (place + 1) * width));
  check(cut.every((body) => readable(body, slots)), "peer", "bodies", "ones that a device writes");
  return { envelope: { task: hex(data.slice(1, 33)), group: [level, role], domain, tag, slots }, bodies: cut };
}
