/** What the server publishes in rounds: the beacon that settles every device's group, and candidate lists. */

import { digestBytes, fromHex, fromUtf8, hex, sha256, utf8, type Digest } from "../bytes.js";
import { check } from "../errors.js";
import { numberBytes } from "../integers.js";
import { canonicalJson, type Json } from "./canonicalJson.js";
import { ROLES, type Group, type Role } from "./groups.js";
import { parsed } from "./signedDocuments.js";

const DOMAIN_DOMAIN = "treetop domain 1\0";

/** Fixes every device's group: drawn by the server after the party has closed enrolment (rounds). */
export interface Beacon {
  readonly task: Digest;
  readonly party: string;
  readonly beacon: Uint8Array;
}

export function readBeacon(content: Uint8Array): Beacon {
  const { task, party, devices, enrolment, beacon } = parsed(content) as Record<string, string>;
  const random = fromHex(beacon);
  const known = random !== null && digestBytes(task) !== null && typeof party === "string" && fromHex(enrolment) !== null &&
    canonicalJson({ task, party, devices, enrolment, beacon } as Json) === fromUtf8(content);
  check(known, "peer", "beacon", "what Treetop publishes");
  return { task: task!, party, beacon: random };
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

/** A list as its JSON has it, as far as anybody knows before it is checked. */
interface WrittenList {
  readonly task: Digest;
  readonly party: string;
  readonly level: number;
  readonly role: Role;
  readonly length: number;
  readonly published_length: number;
  readonly prefixes: unknown;
  readonly pruned: unknown;
  readonly published: unknown;
}

/** Read a list, or refuse it: thresholds that are not this task's own, other fields, other spelling. */
export function readList(content: Uint8Array, listTerms: (slots: number) => Readonly<Record<string, string>>): PublishedList {
  const { task: digest, party, level, role, length, published_length, ...lists } = parsed(content) as unknown as WrittenList;
  const [prefixes, pruned, published] = [numbers(lists.prefixes), numbers(lists.pruned), numbers(lists.published)];
  const known = [level, length, published_length].every((number) => Number.isSafeInteger(number) && number >= 0) &&
    digestBytes(digest) !== null && prefixes !== null && prefixes.length > 0 && pruned !== null && published !== null &&
    typeof party === "string" && ROLES.includes(role);
  check(known, "peer", "candidate list", "what Treetop publishes");
  const written = canonicalJson({
    task: digest, party, level, role, length,
    prefixes: texts(prefixes), pruned: texts(pruned), published_length, published: texts(published),
    ...listTerms(prefixes.length + 1),
  });
  check(written === fromUtf8(content), "peer", "candidate list", "the canonical form");
  const question = { task: digest, group: [level, role] as const, length, prefixes, pruned };
  return { party, question, published: { length: published_length, prefixes: published } };
}

function numbers(content: unknown): bigint[] | null {
  if (!Array.isArray(content) || !content.every((text) => /^[0-9a-f]{1,64}$/.test(text as string))) return null;
  return content.map((text) => BigInt(`0x${text}`));
}

function texts(prefixes: readonly bigint[]): string[] {
  return prefixes.map((prefix) => prefix.toString(16));
}
