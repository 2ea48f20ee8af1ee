/**
 * The same question again and again, and the one week of each cycle in which a device answers.
 *
 * Time is divided into cycles of W weeks. A device draws one week of each cycle, uniformly, and writes it to its ledger
 * with the cost of the cycle before any value is read; a week that it missed is lost. A file of its own, loaded by tasks
 * that are weeks of a campaign: what the device has anyway is handed in, so that this file has no second copy of it.
 */

import { fromUtf8, hex, sha256, utf8, type Digest } from "../bytes.js";
import { check } from "../errors.js";
import { uniformBelow, type Entropy } from "../randomness.js";
import { rationalText } from "../rational.js";
import { canonicalJson, type Json } from "../wire/canonicalJson.js";
import type { DeviceTask } from "../wire/task.js";
import type { CycleSlot, Ledger } from "./ledger.js";

const CAMPAIGN_DOMAIN = "treetop campaign 1\0";
const LEAST_WEEKS = 2;
const MOST = 1024;

export interface Host {
  /** Read a task, and refuse texts that nobody could read. */
  readonly readTask: (data: Uint8Array) => Promise<DeviceTask>;
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
export async function readCampaign(data: Uint8Array, { readTask, normalised }: Host): Promise<Campaign> {
  const text = fromUtf8(data)!;
  const content = objectIn(text);
  const { cycles, every, starts, template: told, weeks } = content as unknown as Record<"cycles" | "every" | "starts" | "weeks", number> & { template: Json };
  refuse(Object.keys(content).sort().join() === "cycles,every,starts,template,weeks", "campaign", "what Treetop writes");
  const template = await readTask(utf8(canonicalJson(told)));
  const over = starts + every * weeks * cycles;
  const asked = canonicalJson(content) === text && whole(starts, 0, over) && whole(every, 1, over) && whole(weeks, LEAST_WEEKS, MOST) &&
    whole(cycles, 1, MOST) && Number.isSafeInteger(over);
  refuse(asked, "campaign", `${LEAST_WEEKS} weeks at least, and times that can be`);
  const common = templateText(template);
  refuse(common === canonicalJson(told), "template of the campaign", "nothing that a week decides for itself");
  const digest = hex(await sha256(utf8(CAMPAIGN_DOMAIN), data));
  const { name, attribute, budget } = template;
  const groups = new Set(template.groups.map(([level, role]) => `${level} ${role}`));
  const opens = (cycle: number, week: number): number => starts + every * (weeks * cycle + week);

  function checkTask(task: DeviceTask): void {
    const { campaign: place, deadlines } = task;
    refuse(place?.campaign === digest, "campaign of the task", digest, place?.campaign);
    const { cycle, week } = place!;
    refuse(cycle < cycles && week < weeks, "week of the task", `${weeks} weeks in each of ${cycles} cycles`, `week ${week} of cycle ${cycle}, from 0 on`);
    const ownName = `${name} week ${weeks * cycle + week + 1}`;
    refuse(task.name === ownName, "name of the task", ownName, task.name);
    const [begin, end] = [opens(cycle, week), opens(cycle, week + 1)];
    refuse(deadlines.opens >= begin && deadlines.reports <= end, "time of the task", `within its week, from ${begin} to ${end}`);
    refuse(task.groups.every(([level, role]) => groups.has(`${level} ${role}`)), "groups of the task", "those of the campaign", "others");
    refuse(templateText({ ...task, name, groups: template.groups }) === common, "task of the campaign", "the same question in every week", "another");
  }

  return {
    digest, name, weeks, cycles, opens, checkTask,
    async ownSlot(task, ledger, entropy) {
      checkTask(task);
      const epsilon = rationalText(budget.amount);
      for (const slot of ledger.slots) {
        const known = normalised(slot.name) !== normalised(name) || (slot.epsilon === epsilon && slot.weeks === weeks);
        refuse(known, `campaign ${name}`, `epsilon ${slot.epsilon} in ${slot.weeks} weeks, as it was known here`, `epsilon ${epsilon} in ${weeks} weeks`);
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

function refuse(holds: boolean, what: string, expected: unknown, found?: unknown): void {
  check(holds, "question", what, expected, found);
}

function objectIn(text: string): Record<string, Json> {
  try {
    return { ...(JSON.parse(text) as object) } as Record<string, Json>;
  } catch {
    return {};
  }
}

function whole(number: unknown, least: number, most: number): boolean {
  return Number.isInteger(number) && (number as number) >= least && (number as number) <= most;
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
    deadlines: { opens: 0, enrolment: Number.MAX_SAFE_INTEGER, reports: Number.MAX_SAFE_INTEGER, level_seconds },
    encoding: { ...encoding, hash_key: "" },
    settings: Object.fromEntries(Object.entries(settings).filter(([name]) => !OF_A_WEEK.includes(name))),
    groups: groups.map(([level, role]) => [level, role, 1]),
  } as Json);
}
