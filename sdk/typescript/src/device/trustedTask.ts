/**
 * Which documents a device believes: signed by a pinned key, about its own task and party, in time.
 *
 * Everything here is a function of public data and happens before the value is read.
 */

import type { Digest } from "../bytes.js";
import { check } from "../errors.js";
import { groupText, type Group } from "../wire/groups.js";
import { checkedContent, checkedTask, readBeacon, readList, type PublishedList, type Verifier } from "../wire/signedDocuments.js";
import { groupAt, type DeviceTask } from "../wire/task.js";
import { SERIAL_BYTES } from "../wire/uploads.js";
import type { Enrolment } from "./groupAssignment.js";
import { largestDomain } from "./listChecks.js";

/** Seconds by which a device's clock may be wrong. */
const LEEWAY = 300;
const MIN_BEACON_BYTES = 16;

/** A signed task that a device of one party takes part in. */
export interface TrustedTask {
  readonly task: DeviceTask;
  readonly party: string;
  readonly verifies: Verifier;
}

/** Believe a task that a pinned key signed, that was asked for and names the own party. */
export async function trustedTask(document: Uint8Array, digest: Digest, party: string, verifies: Verifier): Promise<TrustedTask> {
  const task = await checkedTask(document, verifies);
  check(task.digest === digest, "question", "task", digest, task.digest);
  check(task.parties.includes(party), "question", "parties of the task", `${party} among them`, task.parties.join(", "));
  return { task, party, verifies };
}

/**
 * Refuse a task that has not opened or is over, or whose enrolment is over for a device that has not enrolled: nothing
 * is spent on a report that nobody takes.
 */
export function checkTime({ deadlines: { opens, enrolment, reports } }: DeviceTask, enrols: boolean, now: number): void {
  const last = enrols ? enrolment : reports;
  check(now >= opens - LEEWAY && now <= last + LEEWAY, "question", "time", `from ${opens} to ${last}`, now);
}

/** Refuse a task with a level whose lists are all shorter than the device answers: the level is not its choice. */
export function checkListLengths({ task, party }: TrustedTask, leastSlots: number): void {
  for (const [level, role] of task.oneShot ? [] : task.groups) {
    const group = groupAt(task, party, [level, role]);
    const found = largestDomain(task, group) + 1n;
    check(found >= leastSlots, "question", `slots at ${groupText(group)}`, `${leastSlots} at least`, `${found} at most`);
  }
}

/** Refuse a document of another task or party. */
function checkOwn({ task, party }: TrustedTask, found: { readonly task: Digest; readonly party: string }): void {
  check(found.task === task.digest && found.party === party, "question", "task and party", "the device's own");
}

/** Believe a beacon that a pinned key signed for this task and party; return what settles the group of a ticket. */
export async function enrolmentOf(trusted: TrustedTask, document: Uint8Array, ticket: Uint8Array): Promise<Enrolment> {
  const found = readBeacon(await checkedContent("beacon", document, trusted.verifies));
  const { beacon, party } = found;
  checkOwn(trusted, found);
  check(beacon.length >= MIN_BEACON_BYTES, "question", "bytes of the beacon", `${MIN_BEACON_BYTES} at least`, beacon.length);
  return { identifier: ticket.subarray(0, SERIAL_BYTES), beacon, party };
}

/** Believe a candidate list that a pinned key signed for this task, party and group (rounds). */
export async function listOf(trusted: TrustedTask, document: Uint8Array, group: Group): Promise<PublishedList> {
  const list = readList(await checkedContent("list", document, trusted.verifies), trusted.task);
  const { party, question } = list;
  checkOwn(trusted, { task: question.task, party });
  check(groupText(question.group) === groupText(group), "question", "group of the list", groupText(group), groupText(question.group));
  return list;
}
