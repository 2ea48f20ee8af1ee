/** A party in memory behind `fetch`: signs its task, beacon and lists, and remembers every report that comes. */

import { fromHex, hex, sha256, utf8 } from "../../src/bytes.js";
import { assignedGroup } from "../../src/device/groupAssignment.js";
import { bytesNumber } from "../../src/integers.js";
import { canonicalJson, type Json } from "../../src/wire/canonicalJson.js";
import { ROLES, type Group } from "../../src/wire/groups.js";
import { faceFor, readTask, type DeviceTask } from "../../src/wire/task.js";
import { readBudget } from "../../src/budget.js";
import { setFace, type SetQuestion } from "../../src/sets.js";
import { oracleFor, taskOracles } from "../../src/oracles/registry.js";

export const TICKET = "00".repeat(7) + "07" + "ab".repeat(16);
const BEACON = "5a".repeat(32);

/** Return the canonical text of a task that a test describes by what is different about it. */
export function taskText(changes: Readonly<Record<string, Json>> = {}): string {
  const epsilon = (changes["epsilon"] as string | undefined) ?? "1";
  const oracle = (changes["oracle"] as string | undefined) ?? "olh";
  const { odds } = readBudget(epsilon);
  const known = ["krr", "oue", "olh", "walsh", "listed"].includes(oracle);
  const sets = changes["sets"] as unknown as SetQuestion | undefined;
  const faces = sets ? [setFace(oracle, odds, sets)] : known ? taskOracles(oracle).map((each) => each.device(odds, each.slotsFor(odds))) : [];
  return canonicalJson({
    name: "fruit", attribute: "favourite", epsilon, oracle, k: 3, lengths: [0, 2, 4, 8],
    groups: [[1, "estimate", 1], [2, "estimate", 2], [3, "estimate", 3]], most_slots: 4194305,
    encoding: { name: "ids", hash_key: "" }, mechanism: "", settings: {}, parties: ["south", "north"],
    deadlines: { opens: 0, enrolment: 9007199254740991, reports: 9007199254740991, level_seconds: 3600 },
    least: { estimate: 500, validation: 100 },
    thresholds: Object.assign({}, ...faces.map((face) => face.taskThresholds)) as Record<string, string>, ...changes,
  });
}

/** The one campaign of these tests: two cycles of three weeks, unless a test says otherwise. */
export const STARTS = 1_800_000_000;
export const WEEK = 604_800;

export function campaignText(changes: Readonly<Record<string, Json>> = {}, template: Readonly<Record<string, Json>> = {}): string {
  const groups = [[1, "estimate", 1], [2, "estimate", 1], [3, "estimate", 1]];
  return canonicalJson({ cycles: 2, every: WEEK, starts: STARTS, template: JSON.parse(taskText({ groups, ...template })) as Json, weeks: 3, ...changes });
}

/** Return what makes a task the one of a week of that campaign. */
export async function weekOf(campaign: string, cycle: number, week: number): Promise<Record<string, Json>> {
  const { weeks, starts, every, template } = JSON.parse(campaign) as { weeks: number; starts: number; every: number; template: { name: string } };
  const opens = starts + every * (weeks * cycle + week);
  return {
    ...template, name: `${template.name} week ${weeks * cycle + week + 1}`,
    campaign: { campaign: hex(await sha256(utf8("treetop campaign 1\0"), utf8(campaign))), cycle, week },
    deadlines: { opens, enrolment: opens + every, reports: opens + every, level_seconds: 3600 },
  };
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: Uint8Array;
}

export class FakeParty {
  readonly requests: Request[] = [];
  readonly #documents = new Map<string, Promise<string>>();
  /** Different reports that came, whatever they were answered. */
  readonly reports = new Set<string>();
  enrolled = 0;
  /** What devices that may not answer have told. */
  readonly refusals: string[] = [];
  ticketVerdict = "accepted";
  beaconOut = false;
  listsOut = false;
  closed = false;
  /** The list that its task names. */
  items: Uint8Array | null = null;
  /** The campaign that its task is a week of. */
  campaign: string | null = null;
  /** Candidates that its lists leave out openly. */
  pruned = 0;
  /** Says something else than accepted or replayed. */
  verdict: () => string | null = () => null;
  /** Answers in the party's place, or throws as a network does. */
  fault: (request: Request) => Response | null = () => null;

  private constructor(readonly text: string, readonly task: DeviceTask, private readonly key: CryptoKey, readonly publicKey: string) {}

  static async of(changes: Readonly<Record<string, Json>> = {}): Promise<FakeParty> {
    const text = taskText(changes);
    const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return new FakeParty(text, await readTask(utf8(text)), pair.privateKey, hex(raw));
  }

  /** Signed once: a party hands out what the server wrote. */
  signed(kind: string, content: string): Promise<string> {
    const known = this.#documents.get(content) ?? this.#signed(kind, content);
    this.#documents.set(content, known);
    return known;
  }

  async #signed(kind: string, content: string): Promise<string> {
    const message = utf8(`treetop signed 1\0${kind}\0${content}`);
    const signature = hex(new Uint8Array(await crypto.subtle.sign("Ed25519", this.key, message)));
    return JSON.stringify({ content, kind, signature });
  }

  /** Answer as `fetch` would. */
  readonly fetch = async (url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const body = init.body ? new Uint8Array(init.body as Uint8Array) : new Uint8Array();
    const request = { method: init.method ?? "GET", path: new URL(url as string).pathname.replace(/^.*(?=\/v1\/)/, ""), body };
    this.requests.push(request);
    return this.fault(request) ?? this.#answer(request);
  };

  async #answer({ method, path, body }: Request): Promise<Response> {
    const [, , , , what, level, role] = path.split("/");
    if (path.startsWith("/v1/campaigns/") && this.campaign !== null) return new Response(await this.signed("campaign", this.campaign));
    if (path === "/v1/tasks") {
      return Response.json({ tasks: [{ digest: this.task.digest, name: "fruit", mode: "rounds", state: this.closed ? "closed" : "open" }] });
    }
    if (path.startsWith("/v1/tasks/") && what === undefined) return new Response(await this.signed("task", this.text));
    if (method === "POST" && what === "enrolments") return Response.json({ verdicts: [this.enrolled++ === 0 ? "accepted" : "replayed"] });
    if (method === "POST" && what === "ticket-checks") return Response.json({ verdicts: [this.ticketVerdict] });
    if (method === "POST" && what === "refusals") return Response.json({ verdicts: [this.refusals.push(hex(body)) === 1 ? "accepted" : "replayed"] });
    if (method === "POST" && what === "reports") return Response.json({ verdicts: [this.#judge(body)] });
    if (what === "beacon" && this.beaconOut) {
      const beacon = canonicalJson({ task: this.task.digest, party: "north", devices: 1, enrolment: "00".repeat(32), beacon: BEACON });
      return new Response(await this.signed("beacon", beacon));
    }
    if (what === "items" && this.items !== null) return new Response(this.items as BodyInit);
    if (what === "lists" && this.listsOut) return new Response(await this.signed("list", this.list([Number(level), ROLES[Number(role)]!])));
    return Response.json({ detail: "not here" }, { status: 404 });
  }

  #judge(upload: Uint8Array): string {
    const other = this.verdict();
    if (other !== null) return other;
    const report = hex(upload.slice(29, 29 + Number(bytesNumber(upload.slice(25, 29)))));
    const known = this.reports.has(report);
    this.reports.add(report);
    return known ? "replayed" : "accepted";
  }

  /** The whole next level below the first four prefixes. */
  list([level, role]: Group): string {
    const { lengths, oracle, budget } = this.task;
    const before = lengths[level - 1]!;
    const published = Array.from({ length: before === 0 ? 1 : 4 }, (_, prefix) => prefix);
    const step = lengths[level]! - before;
    const children = published.flatMap((prefix) => Array.from({ length: 1 << step }, (_, ending) => (prefix << step) | ending));
    const [pruned, prefixes] = [children.slice(0, this.pruned), children.slice(this.pruned)];
    const slots = prefixes.length + 1;
    return canonicalJson({
      task: this.task.digest, party: "north", level, role, length: lengths[level]!, oracle: oracleFor(oracle, budget.odds, slots).name,
      prefixes: prefixes.map((prefix) => prefix.toString(16)), pruned: pruned.map((prefix) => prefix.toString(16)), published_length: before,
      published: published.map((prefix) => prefix.toString(16)), ...faceFor(this.task, slots).listThresholds,
    });
  }

  group(): Promise<Group> {
    return assignedGroup(this.task, { identifier: fromHex(TICKET)!.slice(0, 8), beacon: fromHex(BEACON)!, party: "north" });
  }
}
