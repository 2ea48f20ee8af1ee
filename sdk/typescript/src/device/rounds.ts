/**
 * What a device believes and checks in rounds, where it answers a candidate list: a file of its own, loaded by tasks in
 * rounds. Everything here is a function of public data and happens before the value is read.
 */

import type { Digest } from "../bytes.js";
import { check } from "../errors.js";
import { need } from "../wire/documents.js";
import { groupText, type Group } from "../wire/groups.js";
import { readBeacon, readList, type PublishedList } from "../wire/lists.js";
import { checkedContent } from "../wire/signedDocuments.js";
import { groupAt, type listTerms } from "../wire/task.js";
import { SERIAL_BYTES } from "../wire/uploads.js";
import { assignedGroup, type Enrolment } from "./groupAssignment.js";
import { largestDomain } from "./listChecks.js";
import type { TrustedTask } from "./trustedTask.js";

export { listDigest, slotOf } from "../wire/lists.js";
export { assignedGroup } from "./groupAssignment.js";
export { checkQuestion } from "./listChecks.js";

/** Refuse a task with a level whose lists are all shorter than the device answers: the level is not its choice. */
export function checkListLengths({ task, party }: TrustedTask, leastSlots: number): void {
  for (const [level, role] of task.groups) {
    const group = groupAt(task, party, [level, role]);
    const found = largestDomain(task, group) + 1n;
    check(found >= leastSlots, "question", `slots at ${groupText(group)}`, `${leastSlots} at least`, `${found} at most`);
  }
}

/** Refuse a document of another task or party. */
function checkOwn({ task, party }: TrustedTask, found: { readonly task: Digest; readonly party: string }): void {
  need(found.task === task.digest && found.party === party, "other", "task and party");
}

/** Believe a beacon that a pinned key signed for this task and party; return what settles the group of a ticket. */
export async function enrolmentOf(trusted: TrustedTask, document: Uint8Array, ticket: Uint8Array): Promise<Enrolment> {
  const found = readBeacon(await checkedContent("beacon", document, trusted.verifies));
  const { beacon, party } = found;
  checkOwn(trusted, found);
  return { identifier: ticket.subarray(0, SERIAL_BYTES), beacon, party };
}

/** Believe a candidate list that a pinned key signed for this task, party and group (rounds). */
export async function listOf(trusted: TrustedTask, document: Uint8Array, group: Group, terms: ReturnType<typeof listTerms>): Promise<PublishedList> {
  const list = readList(await checkedContent("list", document, trusted.verifies), terms);
  const { party, question } = list;
  checkOwn(trusted, { task: question.task, party });
  need(groupText(question.group) === groupText(group), "other", "group of the list");
  return list;
}

/** Return what settles the device's group, and the list that this group is asked about, once both are published. */
export async function ownList(
  trusted: TrustedTask, ticket: Uint8Array, terms: ReturnType<typeof listTerms>, say: (text: string) => void,
  published: { readonly beacon: () => Promise<Uint8Array>; readonly list: (group: Group) => Promise<Uint8Array> },
): Promise<{ readonly enrolment: Enrolment; readonly list: PublishedList }> {
  const enrolment = await enrolmentOf(trusted, await published.beacon(), ticket);
  const group = await assignedGroup(trusted.task, enrolment);
  say(`This device answers at ${groupText(group)}.`);
  return { enrolment, list: await listOf(trusted, await published.list(group), group, terms) };
}
