/** What everybody knows about a task before the first device answers; it never changes, a change is a new task. */

import { readBudget, type Budget } from "../budget.js";
import { hex, sha256, utf8, type Digest } from "../bytes.js";
import { STEPS } from "../encoding/normalisation.js";
import { MAX_SLOTS, type DeviceFace } from "../oracles/protocol.js";
import { oracleFor, taskOracles } from "../oracles/registry.js";
import { isPublic } from "../publicText.js";
import type { SetFace, SetQuestion } from "../sets.js";
import { canonicalJson, type Json } from "./canonicalJson.js";
import { DIGEST, NAME, need, oneOf, READABLE, READABLE_TEXTS, readDocument, record, rows, text, whole } from "./documents.js";
import { LEVEL, LONGEST_CODE, ROLE, type Group, type Role } from "./groups.js";

const TASK_DOMAIN = "treetop task 1\0";
/** Bits of a name, and of a name with 64 chunks of a text behind it. */
const LONGEST_NAME = 32;
const LONGEST_TEXT = LONGEST_NAME + 512;
const LAST_SECOND = Number.MAX_SAFE_INTEGER;
const MAX_WEIGHT = 4294967296;
const MAX_PARTIES = 65536;
/** Lengths of a name and its chunks, 0 among them. */
const MAX_NAMES = 66;
/** Of a cycle, and cycles of a campaign. */
const MAX_WEEKS = 1024;

/** The content of a task, named as its JSON names it. */
interface TaskContent {
  readonly name: string;
  readonly attribute: string;
  readonly epsilon: string;
  readonly oracle: string;
  readonly k: number;
  /** l_0 .. l_g: the prefix length of every level, from 0 to the bits of a code. */
  readonly lengths: readonly number[];
  readonly groups: readonly (readonly [level: number, role: Role, weight: number])[];
  /** d_max: no published list may be longer, the dummy counted. */
  readonly most_slots: number;
  readonly encoding: { readonly name: string; readonly hash_key: string; readonly normalise?: string };
  /** Prefixes unless said otherwise. Names: level 1 reports the first l_1 bits, level h the chunk of 8 bits up to l_h. */
  readonly reports?: "names";
  /** Digest of the list of known items. */
  readonly item_list?: Digest;
  /** What is asked of devices that hold sets of items; otherwise every device holds one. */
  readonly sets?: SetQuestion;
  /** Which week of which campaign this is, cycles and weeks counted from 0; otherwise it stands alone. */
  readonly campaign?: { readonly campaign: Digest; readonly cycle: number; readonly week: number };
  readonly mechanism: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The first one validates nothing: its validation groups estimate like the others. */
  readonly parties: readonly string[];
  readonly deadlines: Readonly<Record<"opens" | "enrolment" | "reports" | "level_seconds", number>>;
  readonly least: Readonly<Record<"estimate" | "validation", number>>;
}

/** All that a device must know to answer; its digest names it. */
export interface DeviceTask extends TaskContent {
  readonly digest: Digest;
  readonly budget: Budget;
  /** m, the bits of a code. */
  readonly bits: number;
  /** Whether devices answer without a candidate list, each at a level of its own drawing. */
  readonly oneShot: boolean;
  /** How a device answers about a set. */
  readonly setFace: SetFace | null;
}

/** The fields of a task; marked as pure, so that files which read no task do without. */
export const TASK = /* @__PURE__ */ (() => {
  const SECONDS = whole(0, LAST_SECOND);
  const COUNT = whole(1, MAX_WEIGHT);
  return record({
    attribute: NAME, epsilon: READABLE, groups: rows(rows([LEVEL, ROLE, COUNT], 3, 3), 1, 3 * LONGEST_CODE), k: whole(1, MAX_SLOTS),
    lengths: rows(whole(0, LONGEST_TEXT), 2, LONGEST_CODE + 1), most_slots: whole(2, MAX_SLOTS), name: NAME, oracle: READABLE,
    encoding: record({ hash_key: READABLE, name: READABLE }, { normalise: text((steps) => steps !== "" && isPublic(steps)) }),
    mechanism: READABLE, settings: READABLE_TEXTS, parties: rows(NAME, 0, MAX_PARTIES),
    deadlines: record({ opens: SECONDS, enrolment: SECONDS, reports: SECONDS, level_seconds: SECONDS }),
    least: record({ estimate: COUNT, validation: COUNT }), thresholds: READABLE_TEXTS,
  }, {
    reports: oneOf(["names"]), item_list: DIGEST,
    sets: record({ items_per_user: whole(1, 64), reading: oneOf(["holders", "shares", "use_shares"]) }),
    campaign: record({ campaign: DIGEST, cycle: whole(0, MAX_WEEKS - 1), week: whole(0, MAX_WEEKS - 1) }),
  });
})();

/** Read a task; anything but its one canonical form, with the thresholds of its budget, is refused. */
export async function readTask(data: Uint8Array): Promise<DeviceTask> {
  const content = readDocument<TaskContent & { thresholds: Json }>(data, TASK, "task");
  const digest = hex(await sha256(utf8(TASK_DOMAIN), data));
  try {
    const { oracle: rule, sets, epsilon } = content;
    const budget = readBudget(epsilon);
    const oracles = taskOracles(rule);
    const oneShot = !oracles[0].listed;
    const setFace = sets === undefined ? null : (await import("../sets.js")).setFace(rule, budget.odds, sets);
    const faces = setFace ? [setFace] : oracles.map((oracle) => oracle.device(budget.odds, oracle.slotsFor(budget.odds)));
    const thresholds = Object.assign({}, ...faces.map((face) => face.taskThresholds)) as Json;
    const asked = budget.text === epsilon && canBeAsked(content, oneShot) && canonicalJson(thresholds) === canonicalJson(content.thresholds);
    need(asked, "meaning", "task");
    return { ...content, digest, budget, bits: content.lengths.at(-1)!, oneShot, setFace };
  } catch (error) {
    return need(false, "meaning", `task: ${error}`) as never;
  }
}

/** Return how a device answers: without a list, or a list of d slots. */
export function faceFor({ oracle, budget: { odds } }: DeviceTask, slots?: number): DeviceFace {
  const chosen = oracleFor(oracle, odds, slots ?? 2);
  return chosen.device(odds, slots ?? chosen.slotsFor(odds));
}

/** Return what a list of d slots says of the oracle: its name, and thresholds that depend on d. */
export function listTerms(task: DeviceTask): (slots: number) => Readonly<Record<string, string>> {
  return (slots) => ({ oracle: oracleFor(task.oracle, task.budget.odds, slots).name, ...faceFor(task, slots).listThresholds });
}

/** Return the group that a device of a party is in: at the first party validation sets estimate. */
export function groupAt({ parties }: DeviceTask, party: string, [level, role]: Group): Group {
  return [level, party === parties[0] ? "estimate" : role];
}

function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

/** Return whether the fields of a task fit together. */
function canBeAsked({ lengths, groups, encoding, parties, deadlines, reports }: TaskContent, oneShot: boolean): boolean {
  const { normalise = STEPS[0]! } = encoding;
  const rising = lengths.every((length, level) => level === 0 ? length === 0 : length > lengths[level - 1]!);
  const chunks = lengths.every((length, level) => level < 2 ? length <= LONGEST_NAME : length === lengths[level - 1]! + 8);
  return rising && (reports ? chunks && lengths.length <= MAX_NAMES && oneShot : lengths.at(-1)! <= LONGEST_CODE) &&
    STEPS.filter((step) => normalise.split(",").includes(step)).join() === normalise &&
    distinct(groups.map(([level, role]) => level + role)) && groups.every(([level]) => level < lengths.length) &&
    distinct(parties) && deadlines.opens <= deadlines.enrolment && deadlines.enrolment <= deadlines.reports;
}
