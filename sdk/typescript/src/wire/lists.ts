/** What the server publishes in rounds: the beacon that settles every device's group, and candidate lists. */

import { fromHex, hex, sha256, utf8, type Digest } from "../bytes.js";
import { numberBytes } from "../integers.js";
import { MAX_SLOTS } from "../oracles/protocol.js";
import { canonicalJson } from "./canonicalJson.js";
import { CODE, DIGEST, hexBytes, NAME, need, READABLE, readDocument, record, rows, whole } from "./documents.js";
import { LEVEL, LONGEST_CODE, ROLE, ROLES, type Group, type Role } from "./groups.js";

const MIN_BEACON_BYTES = 16;
const MAX_BEACON_BYTES = 64;
/** Of a task, at one party. */
const MAX_TICKETS = 1_099_511_627_776;
const DOMAIN_DOMAIN = "treetop domain 1\0";

/** Fixes every device's group: drawn by the server after the party has closed enrolment (rounds). */
export interface Beacon {
  readonly task: Digest;
  readonly party: string;
  readonly beacon: Uint8Array;
}

const BEACON = record({
  beacon: hexBytes(MIN_BEACON_BYTES, MAX_BEACON_BYTES), devices: whole(0, MAX_TICKETS), enrolment: DIGEST, party: NAME, task: DIGEST,
});

export function readBeacon(content: Uint8Array): Beacon {
  const { task, party, beacon } = readDocument<Record<"task" | "party" | "beacon", string>>(content, BEACON, "beacon");
  return { task, party, beacon: fromHex(beacon)! };
}

/** The prefixes that the candidates must descend from, as the task's public log has them. */
export interface Publication {
  readonly length: number;
  readonly prefixes: readonly bigint[];
}

/** Party to the devices of one group: which of these prefixes does your value begin with? */
export interface Question {
  readonly task: Digest;
  readonly group: Group;
  readonly length: number;
  readonly prefixes: readonly bigint[];
  /** Children of published prefixes that were left out on purpose, 2k at most. */
  readonly pruned: readonly bigint[];
}

/** Return what stands for a list in envelope and ledger. */
export async function listDigest({ task, group: [level, role], length, prefixes }: Question): Promise<Digest> {
  const head = [level, ROLES.indexOf(role), length, prefixes.length].map((number) => numberBytes(number, 4));
  const candidates = prefixes.map((prefix) => numberBytes(prefix, (length + 7) >> 3));
  return hex(await sha256(utf8(DOMAIN_DOMAIN), fromHex(task)!, ...head, ...candidates));
}

/** Return the candidate's slot, or the dummy's; all candidates are compared, whichever it is. */
export function slotOf({ prefixes }: Question, prefix: bigint | null): bigint {
  let slot = prefixes.length;
  prefixes.forEach((candidate, place) => {
    if (candidate === prefix) slot = place;
  });
  return BigInt(slot);
}

/** One level's question to the devices of one party, and the prefixes that it grew from. */
export interface PublishedList {
  readonly party: string;
  readonly question: Question;
  readonly published: Publication;
}

/** A list as its JSON has it. */
interface WrittenList {
  readonly task: Digest;
  readonly party: string;
  readonly level: number;
  readonly role: Role;
  readonly length: number;
  readonly published_length: number;
  readonly prefixes: readonly string[];
  readonly pruned: readonly string[];
  readonly published: readonly string[];
}

const LENGTH = whole(0, LONGEST_CODE);
const PREFIXES = rows(CODE, 0, 2 * MAX_SLOTS);
const LIST = record({
  length: LENGTH, level: LEVEL, party: NAME, prefixes: rows(CODE, 1, MAX_SLOTS - 1), pruned: PREFIXES, published: PREFIXES,
  published_length: LENGTH, role: ROLE, task: DIGEST, oracle: READABLE,
}, { keep: READABLE });

/** Read a list, or refuse it: thresholds that are not this task's own, other fields, other spelling. */
export function readList(content: Uint8Array, listTerms: (slots: number) => Readonly<Record<string, string>>): PublishedList {
  const { task, party, level, role, length, published_length, prefixes, pruned, published, ...terms } = readDocument<WrittenList>(content, LIST, "candidate list");
  need(canonicalJson(terms) === canonicalJson(listTerms(prefixes.length + 1)), "meaning", "oracle of the list");
  const question = { task, group: [level, role] as const, length, prefixes: numbers(prefixes), pruned: numbers(pruned) };
  return { party, question, published: { length: published_length, prefixes: numbers(published) } };
}

function numbers(texts: readonly string[]): bigint[] {
  return texts.map((text) => BigInt(`0x${text}`));
}
