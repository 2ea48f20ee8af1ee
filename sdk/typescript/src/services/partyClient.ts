/** What a device asks of its party over HTTP; it tries again, always with the same bytes, and checks every answer. */

import { fromUtf8, joined, type Digest } from "../bytes.js";
import { check, TreetopError, type Code } from "../errors.js";
import { uniformBelow, type Entropy } from "../randomness.js";
import { ROLES, type Group } from "../wire/groups.js";
import { encodedRefusal, encodedUpload, type Verdict } from "../wire/uploads.js";

/** Answers after which the same request may be taken later. */
const AGAIN = [408, 429, 502, 503, 504];
const MAX_DOCUMENT_BYTES = 1 << 26;
const RETRY_FOR = 120_000;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
/** Of one attempt. */
const ANSWER_WITHIN = 60_000;
const GRAIN = 1 << 16;

interface Reply {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Why there is no answer yet, and how many milliseconds the party asks to wait. */
interface Away {
  readonly reason: string;
  readonly wanted?: number;
}

export interface PartyClient {
  /** Return the signed document of the task; nobody has checked it. */
  task(): Promise<Uint8Array>;
  /** Return whether the party lists the task as open. */
  isOpen(): Promise<boolean>;
  /** Enrol the device by its ticket (rounds). */
  enrol(ticket: Uint8Array): Promise<Verdict>;
  /** Ask whether a ticket is the party's own. */
  checkTicket(ticket: Uint8Array): Promise<Verdict>;
  /** Report that the device may not answer. */
  tellRefusal(ticket: Uint8Array, code: Code): Promise<Verdict>;
  /** Return the signed beacon, or null while there is none. */
  beacon(): Promise<Uint8Array | null>;
  /** Return the signed list of a group, or null while there is none. */
  candidateList(group: Group): Promise<Uint8Array | null>;
  /** Return the list of items that the task names, or null while the party has none; nobody has checked it. */
  itemList(): Promise<Uint8Array | null>;
  /** Return the signed campaign that the task is a week of, or null while the party has none; nobody has checked it. */
  campaign(campaign: Digest): Promise<Uint8Array | null>;
  /** Send a report with its ticket. */
  submit(ticket: Uint8Array, batch: Uint8Array): Promise<Verdict>;
}

/** Return the way to a party for one task; plain http is for this machine alone. */
export function partyClient(address: string, digest: Digest, entropy: Entropy, retryFor = RETRY_FOR): PartyClient {
  const usable = /^(https:\/\/[^/?#@\s]+|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)(\/[^?#\s]*)?$/i.test(address);
  check(usable, "input", "address of the party", "https://…, or http:// on this machine", address);
  const api = `${address.replace(/\/+$/, "")}/v1`;
  const tasks = `${api}/tasks`;

  async function ask(url: string, body?: Uint8Array): Promise<Reply> {
    const end = performance.now() + retryFor;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const found = await attempt(url, body);
      if ("body" in found) return found;
      const jitter = 1 + Number(uniformBelow(BigInt(GRAIN), entropy)) / (2 * GRAIN); // not all devices at once
      const wait = Math.min(found.wanted ?? pause, LONGEST_PAUSE) * jitter;
      if (performance.now() + wait > end) throw new TreetopError("away", `the party at ${address} does not answer: ${found.reason}`);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  async function documentIfAny(...path: unknown[]): Promise<Uint8Array | null> {
    const reply = await ask([api, ...path].join("/"));
    return reply.status === 404 ? null : expected(reply).body;
  }

  async function verdictOf(path: string, body: Uint8Array): Promise<Verdict> {
    const [verdict, ...more] = members(await ask(`${tasks}/${digest}/${path}`, body), "verdicts");
    const known = more.length === 0 && typeof verdict === "string" && /^[a-z_]+$/.test(verdict);
    check(known, "peer", "answer of the party", "one verdict");
    return verdict as Verdict;
  }

  return {
    task: async () => expected(await ask(`${tasks}/${digest}`)).body,
    isOpen: async () => {
      const listed = members(await ask(tasks), "tasks");
      return listed.some((task) => fieldOf(task, "digest") === digest && fieldOf(task, "state") === "open");
    },
    enrol: (ticket) => verdictOf("enrolments", ticket),
    checkTicket: (ticket) => verdictOf("ticket-checks", ticket),
    tellRefusal: (ticket, code) => verdictOf("refusals", encodedRefusal(ticket, code)),
    beacon: () => documentIfAny("tasks", digest, "beacon"),
    candidateList: ([level, role]) => documentIfAny("tasks", digest, "lists", level, ROLES.indexOf(role)),
    itemList: () => documentIfAny("tasks", digest, "items"),
    campaign: (campaign) => documentIfAny("campaigns", campaign),
    submit: (ticket, batch) => verdictOf("reports", encodedUpload(ticket, batch)),
  };
}

async function attempt(url: string, body?: Uint8Array): Promise<Reply | Away> {
  try {
    const answer = await fetch(url, {
      ...(body && { method: "POST", body: body as BufferSource, headers: { "Content-Type": "application/octet-stream" } }),
      cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(ANSWER_WITHIN),
    });
    const reply = { status: answer.status, body: await wholeBody(answer) };
    if (!AGAIN.includes(reply.status)) return reply;
    const wanted = /^\d{1,6}$/.exec(answer.headers.get("Retry-After") ?? "");
    return { reason: `status ${reply.status}`, ...(wanted && { wanted: 1000 * Number(wanted) }) };
  } catch (error) {
    if (error instanceof TreetopError) throw error;
    return { reason: (error as Error).name };
  }
}

/** Return a whole body; one that is too long is refused, and one that was cut off is no answer. */
async function wholeBody(answer: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = answer.body?.getReader();
  for (let part; (part = (await reader?.read())?.value); parts.push(part)) {
    length += part.length;
    if (length > MAX_DOCUMENT_BYTES) await reader!.cancel();
    check(length <= MAX_DOCUMENT_BYTES, "peer", "bytes of an answer", `${MAX_DOCUMENT_BYTES} at most`, "more");
  }
  return joined(...parts);
}

function expected(reply: Reply): Reply {
  const { status } = reply;
  const detail = status < 300 ? "" : fieldOf(json(reply), "detail");
  check(status >= 200 && status < 300, "peer", "answer of the party", "status 200", typeof detail === "string" ? `${status} ${detail}` : status);
  return reply;
}

function json({ body }: Reply): unknown {
  try {
    return JSON.parse(fromUtf8(body)!) as unknown;
  } catch {
    return null;
  }
}

function fieldOf(content: unknown, name: string): unknown {
  return (content as Record<string, unknown> | null)?.[name];
}

function members(reply: Reply, name: string): unknown[] {
  const found = fieldOf(json(expected(reply)), name);
  check(Array.isArray(found), "peer", "answer of the party", `a list of ${name}`);
  return found;
}
