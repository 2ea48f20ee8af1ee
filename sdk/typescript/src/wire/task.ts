/** What everybody knows about a task before the first device answers; it never changes, a change is a new task. */

import { readBudget, type Budget } from "../budget.js";
import { digestBytes, fromUtf8, hex, sha256, utf8, type Digest } from "../bytes.js";
import { STEPS } from "../encoding/normalisation.js";
import { check, TreetopError } from "../errors.js";
import { MAX_SLOTS, type DeviceFace } from "../oracles/protocol.js";
import { oracleFor, taskOracles } from "../oracles/registry.js";
import { isName, isPublic } from "../publicText.js";
import type { SetFace, SetQuestion } from "../sets.js";
import { canonicalJson, type Json } from "./canonicalJson.js";
import { ROLES, type Group, type Role } from "./groups.js";

const TASK_DOMAIN = "treetop task 1\0";
const LONGEST_CODE = 256;
/** Bits of a name, and of a name with 64 chunks of a text behind it. */
const LONGEST_NAME = 32;
const LONGEST_TEXT = LONGEST_NAME + 512;
const LAST_SECOND = Number.MAX_SAFE_INTEGER;
const MAX_WEIGHT = 4294967296;
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

/** Read a task; anything but its one canonical form, with the thresholds of its budget, is refused. */
export async function readTask(data: Uint8Array): Promise<DeviceTask> {
  try {
    const text = fromUtf8(data)!;
    const content = JSON.parse(text) as TaskContent;
    checkContent(content);
    const budget = readBudget(content.epsilon);
    const { oracle: rule, sets } = content;
    const setFace = sets === undefined ? null : (await import("../sets.js")).setFace(rule, budget.odds, sets);
    const faces = setFace ? [setFace] : taskOracles(rule).map((oracle) => oracle.device(budget.odds, oracle.slotsFor(budget.odds)));
    const thresholds = Object.assign({}, ...faces.map((face) => face.taskThresholds)) as Record<string, string>;
    const canonical = canonicalJson({ ...content, epsilon: budget.text, thresholds } as unknown as Json);
    check(canonical === text, "question", "form", "the canonical one");
    const digest = hex(await sha256(utf8(TASK_DOMAIN), data));
    const oneShot = !taskOracles(rule)[0].listed;
    return { ...content, digest, budget, bits: content.lengths.at(-1)!, oneShot, setFace };
  } catch (error) {
    throw new TreetopError("question", `task: expected what Treetop writes, found ${error}`);
  }
}

/** Refuse texts that nobody could read. */
export function checkTexts({ name, attribute, parties, oracle, mechanism, encoding, settings }: DeviceTask): void {
  const texts = [oracle, mechanism, ...Object.values(encoding), ...Object.entries(settings).flat()];
  const readable = [name, attribute, ...parties].every(isName) && texts.every(isPublic);
  check(readable, "question", "texts of the task", "short names, and no character that cannot be seen");
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

function whole(number: unknown, least: number, most: number): boolean {
  return Number.isInteger(number) && (number as number) >= least && (number as number) <= most;
}

function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}

function hasFields(content: object, names: string, ...optional: readonly string[]): boolean {
  return Object.keys(content).filter((name) => !optional.includes(name)).sort().join() === names;
}

const FIELDS =
  "attribute,deadlines,encoding,epsilon,groups,k,least,lengths,mechanism,most_slots,name,oracle,parties,settings,thresholds";

/** Throw unless the content has the fields of a task, and says what can be asked. */
function checkContent(content: TaskContent): void {
  const { name, attribute, lengths, groups, encoding, settings, parties, deadlines, least, reports, item_list, campaign } = content;
  const names = reports === "names";
  const { normalise = STEPS[0] } = encoding;
  const texts = [
    name, attribute, content.oracle, content.mechanism, ...Object.values(encoding), ...parties, ...Object.values(settings),
  ];
  const asked = {
    fields: hasFields(content, FIELDS, "reports", "item_list", "sets", "campaign") && hasFields(encoding, "hash_key,name", "normalise") &&
      hasFields(least, "estimate,validation") && hasFields(deadlines, "enrolment,level_seconds,opens,reports"),
    texts: texts.every((text) => typeof text === "string") && name !== "" && attribute !== "",
    k: whole(content.k, 1, MAX_SLOTS),
    most_slots: whole(content.most_slots, 2, MAX_SLOTS),
    lengths: Array.isArray(lengths) && lengths.length > 1 && lengths[0] === 0 && lengths.every(
      (length, level) => whole(length, 0, names ? LONGEST_TEXT : LONGEST_CODE) && (level === 0 || length > lengths[level - 1]!) &&
        (!names || (level < 2 ? length <= LONGEST_NAME : length === lengths[level - 1]! + 8)),
    ),
    reports: reports === undefined || (names && !taskOracles(content.oracle)[0].listed),
    item_list: item_list === undefined || digestBytes(item_list) !== null,
    campaign: campaign === undefined || (hasFields(campaign, "campaign,cycle,week") && digestBytes(campaign.campaign) !== null &&
      whole(campaign.cycle, 0, MAX_WEEKS - 1) && whole(campaign.week, 0, MAX_WEEKS - 1)),
    normalise: normalise !== "" && STEPS.filter((step) => `${normalise}`.split(",").includes(step)).join() === normalise,
    groups: Array.isArray(groups) && groups.length > 0 && distinct(groups.map(([level, role]) => `${level} ${role}`)) && groups.every(
      ([level, role, weight, ...more]: readonly unknown[]) =>
        more.length === 0 && whole(level, 1, lengths.length - 1) && ROLES.includes(role as Role) && whole(weight, 1, MAX_WEIGHT),
    ),
    parties: Array.isArray(parties) && !parties.includes("") && distinct(parties),
    settings: Object.getPrototypeOf(settings) === Object.prototype,
    deadlines: Object.values(deadlines).every((time) => whole(time, 0, LAST_SECOND)) &&
      deadlines.opens <= deadlines.enrolment && deadlines.enrolment <= deadlines.reports,
    least: Object.values(least).every((number) => whole(number, 1, MAX_WEIGHT)),
  };
  const wrong = Object.entries(asked).filter(([, holds]) => !holds);
  check(wrong.length === 0, "question", "fields", "ones that can be asked", wrong.join());
}
