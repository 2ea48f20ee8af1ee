/**
 * Which documents a device believes: signed by a pinned key, about its own task and party, in time.
 *
 * Everything here is a function of public data and happens before the value is read.
 */

import type { Digest } from "../bytes.js";
import { check } from "../errors.js";
import { need } from "../wire/documents.js";
import { checkedContent, checkedTask, type Verifier } from "../wire/signedDocuments.js";
import { readTask, TASK, type DeviceTask } from "../wire/task.js";
import { normalised } from "./attributes.js";
import type { Campaign } from "./campaigns.js";

/** Seconds by which a device's clock may be wrong. */
const LEEWAY = 300;

/** A signed task that a device of one party takes part in. */
export interface TrustedTask {
  readonly task: DeviceTask;
  readonly party: string;
  readonly verifies: Verifier;
}

/** Believe a task that a pinned key signed, that was asked for and names the own party. */
export async function trustedTask(document: Uint8Array, digest: Digest, party: string, verifies: Verifier): Promise<TrustedTask> {
  const task = await checkedTask(document, verifies);
  need(task.digest === digest, "other", "digest of the task");
  need(task.parties.includes(party), "other", `parties of the task: expected ${party}`);
  return { task, party, verifies };
}

/** Believe a campaign that a pinned key signed and that this task is a week of. */
export async function campaignOf({ task, verifies }: TrustedTask, document: Uint8Array): Promise<Campaign> {
  const content = await checkedContent("campaign", document, verifies);
  const campaign = await (await import("./campaigns.js")).readCampaign(content, { readTask, rule: TASK, normalised });
  campaign.checkTask(task);
  return campaign;
}

/**
 * Refuse a task that has not opened or is over, or whose enrolment is over for a device that has not enrolled: nothing
 * is spent on a report that nobody takes.
 */
export function checkTime({ deadlines: { opens, enrolment, reports } }: DeviceTask, enrols: boolean, now: number): void {
  const last = enrols ? enrolment : reports;
  check(now >= opens - LEEWAY && now <= last + LEEWAY, "question", "time", `from ${opens} to ${last}`, now);
}
