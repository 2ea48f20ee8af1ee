/**
 * The same question again and again, and the one week of each cycle in which a device answers.
 *
 * Time is divided into cycles of W weeks. A device draws one week of each cycle, uniformly, and writes it to its ledger
 * with the cost of the cycle before any value is read; a week that it missed is lost. A file of its own, loaded by tasks
 * that are weeks of a campaign: what the device has anyway is handed in, so that this file has no second copy of it.
 */

import { hex, sha256, utf8, type Digest } from "../bytes.js";
import { check } from "../errors.js";
import { uniformBelow, type Entropy } from "../randomness.js";
import { rationalText } from "../rational.js";
import { canonicalJson, type Json } from "../wire/canonicalJson.js";
import { need, readDocument, record, whole, type Rule } from "../wire/documents.js";
import type { DeviceTask } from "../wire/task.js";
import type { CycleSlot, Ledger } from "./ledger.js";

const CAMPAIGN_DOMAIN = "treetop campaign 1\0";
const LEAST_WEEKS = 2;
const MOST = 1024;
const LAST_SECOND = Number.MAX_SAFE_INTEGER;

/** A campaign as its JSON has it. */
type WrittenCampaign = Readonly<Record<"cycles" | "every" | "starts" | "weeks", number>> & { readonly template: Json };

export interface Host {
  readonly readTask: (data: Uint8Array) => Promise<DeviceTask>;
  /** The fields of a task. */
  readonly rule: Rule;
  readonly normalised: (name: string) => string;
}

/** What is asked in every week, and when. */
export interface Campaign {
  readonly digest: Digest;
  readonly name: string;
  readonly weeks: number;
  readonly cycles: number;
  /** Return the first second of a week; weeks are counted from 0, and that after the last is the end. */
  opens(cycle: number, week: number): number;
  /** Refuse a task that is not one of its weeks. */
  checkTask(task: DeviceTask): void;
  /** Return the own week in the cycle of a task: what the ledger says, or what is drawn now, on first sight of the cycle. */
  ownSlot(task: DeviceTask, ledger: Ledger, entropy: Entropy): Promise<CycleSlot>;
}

/** Read a campaign; anything but its one canonical form is refused. */
export async function readCampaign(data: Uint8Array, { readTask, rule, normalised }: Host): Promise<Campaign> {
  const fields = { cycles: whole(1, MOST), every: whole(1, LAST_SECOND), starts: whole(0, LAST_SECOND), template: rule, weeks: whole(LEAST_WEEKS, MOST) };
  const { cycles, every, starts, template: written, weeks } = readDocument<WrittenCampaign>(data, record(fields), "campaign");
  const template = await readTask(utf8(canonicalJson(written)));
  const common = templateText(template);
  need(Number.isSafeInteger(starts + every * weeks * cycles) && common === canonicalJson(written), "meaning", "campaign");
  const digest = hex(await sha256(utf8(CAMPAIGN_DOMAIN), data));
  const { name, attribute, budget } = template;
  const groups = new Set(template.groups.map(([level, role]) => `${level} ${role}`));
  const opens = (cycle: number, week: number): number => starts + every * (weeks * cycle + week);

  function checkTask(task: DeviceTask): void {
    const { campaign: place, deadlines } = task;
    need(place?.campaign === digest, "other", "campaign of the task");
    const { cycle, week } = place!;
    need(cycle < cycles && week < weeks, "other", `week of the task: ${weeks} weeks in each of ${cycles} cycles`);
    const ownName = `${name} week ${weeks * cycle + week + 1}`;
    need(task.name === ownName, "other", `name of the task: expected ${ownName}`);
    const [begin, end] = [opens(cycle, week), opens(cycle, week + 1)];
    need(deadlines.opens >= begin && deadlines.reports <= end, "other", `time of the task: from ${begin} to ${end}`);
    need(task.groups.every(([level, role]) => groups.has(`${level} ${role}`)), "other", "groups of the task");
    need(templateText({ ...task, name, groups: template.groups }) === common, "other", "question of the task");
  }

  return {
    digest, name, weeks, cycles, opens, checkTask,
    async ownSlot(task, ledger, entropy) {
      checkTask(task);
      const epsilon = rationalText(budget.amount);
      for (const slot of ledger.slots) {
        const known = normalised(slot.name) !== normalised(name) || (slot.epsilon === epsilon && slot.weeks === weeks);
        check(known, "question", `campaign ${name}`, `epsilon ${slot.epsilon} in ${slot.weeks} weeks, as it was known here`, `epsilon ${epsilon} in ${weeks} weeks`);
      }
      const { cycle } = task.campaign!;
      const drawn = ledger.slots.find((slot) => slot.campaign === digest && slot.cycle === cycle);
      if (drawn) return drawn;
      ledger.checkAllowed(attribute, budget.amount);
      const slot = Number(uniformBelow(BigInt(weeks), entropy));
      return ledger.takeSlot({ campaign: digest, cycle, slot, weeks, epsilon, attribute, name });
    },
  };
}

/** Settings that a week decides for itself: the key of hashed names, and what earlier weeks found. */
const OF_A_WEEK = ["hash_key", "seeds"];

/** What a device has worked out of a task, and what a week decides for itself. */
const OWN = ["digest", "budget", "bits", "oneShot", "setFace", "campaign", "item_list"];

/** Return a task without all that a week decides for itself, as it is written down; the name stays. */
function templateText(task: DeviceTask): string {
  const { encoding, settings, groups, deadlines: { level_seconds } } = task;
  return canonicalJson({
    ...Object.fromEntries(Object.entries(task).filter(([name]) => !OWN.includes(name))),
    deadlines: { opens: 0, enrolment: LAST_SECOND, reports: LAST_SECOND, level_seconds },
    encoding: { ...encoding, hash_key: "" },
    settings: Object.fromEntries(Object.entries(settings).filter(([name]) => !OF_A_WEEK.includes(name))),
    groups: groups.map(([level, role]) => [level, role, 1]),
  } as Json);
}
