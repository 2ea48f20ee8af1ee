/** Ten thousand malformed answers of a party: each is survived, or refused with an error of ours, and one report at most is made. */

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { systemEntropy } from "../src/adapters/systemEntropy.js";
import { fromHex } from "../src/bytes.js";
import { enrolmentOf, listOf } from "../src/device/rounds.js";
import { campaignOf, trustedTask } from "../src/device/trustedTask.js";
import { TreetopError } from "../src/errors.js";
import { partyClient } from "../src/services/partyClient.js";
import type { Verifier } from "../src/wire/signedDocuments.js";
import { listTerms } from "../src/wire/task.js";
import { campaignText, FakeParty, TICKET, weekOf } from "./support/fakeParty.js";
import { memoryState } from "./support/memoryDevice.js";
import { Player } from "./support/player.js";

const ANSWERS = 10_000;
const WHOLE_DEVICES = 2_000;
const PER_DEVICE = 50;

/** Numbers that are the same in every run (xorshift); nothing of a device is drawn from them. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const WHOLE = [
  "", "null", "[]", "{}", "0", '"x"', "{", "[".repeat(100_000), "\0", "\ufeff{}", "NaN", "\ud800", '{"verdicts":"accepted"}',
  '{"verdicts":[]}', '{"verdicts":["accepted","accepted"]}', '{"verdicts":[["accepted"]]}', '{"verdicts":["toString"]}',
  '{"__proto__":{"verdicts":["accepted"]}}', '{"verdicts":[null]}', '{"tasks":{}}', '{"tasks":[null,1,"x",[]]}',
  '{"content":null,"kind":"task","signature":""}', '{"content":"{}","kind":"task","signature":"00"}',
  '{"content":"é","kind":"list","signature":"00"}', '{"detail":{"toString":1}}', '{"detail":"\\u202e"}',
];
const STATUSES = [200, 201, 202, 206, 300, 400, 401, 403, 404, 409, 413, 418, 422, 431, 500, 501, 599];

/** Return an answer as no honest party gives it, or fail as a network does. */
function mangled(bytes: Uint8Array<ArrayBuffer>, next: (below: number) => number): Response {
  const status = STATUSES[next(STATUSES.length)]!;
  switch (next(5)) {
    case 0: return new Response(WHOLE[next(WHOLE.length)]!, { status: next(2) === 0 ? 200 : status });
    case 1: return new Response(bytes, { status });
    case 2: return new Response(bytes.slice(0, next(bytes.length + 1)));
    case 3: throw new TypeError("network");
  }
  for (let count = 1 + next(4); count > 0; count--) bytes[next(bytes.length)] = next(256);
  return new Response(bytes);
}

/** As WebCrypto checks it, but at once: ten thousand checks in another thread would take minutes. */
function atOnce(publicKey: string): Verifier {
  const key = createPublicKey({ key: Buffer.from(`302a300506032b6570032100${publicKey}`, "hex"), format: "der", type: "spki" });
  return (message, signature) => Promise.resolve(verify(null, message, key, signature));
}

async function ours(run: Promise<unknown>): Promise<string> {
  return run.then(() => "done", (error: unknown) => {
    assert.ok(error instanceof TreetopError, String((error as Error).stack));
    assert.doesNotMatch(error.message, /[\0-\x1f\u202e]/);
    return error.kind;
  });
}

async function readyParty(oracle: string): Promise<FakeParty> {
  return Object.assign(await FakeParty.of({ oracle }), { beaconOut: true, listsOut: true });
}

async function partyOfWeek(oracle: string): Promise<FakeParty> {
  const campaign = campaignText({}, { oracle });
  return Object.assign(await FakeParty.of(await weekOf(campaign, 0, 0)), { beaconOut: true, listsOut: true, campaign });
}

test("two thousand whole devices survive a malformed answer", async () => {
  const next = numbers(20_260_101);
  const outcomes = new Set<string>();
  for (let answered = 0; answered < WHOLE_DEVICES; answered += PER_DEVICE) {
    const party = await [readyParty, partyOfWeek][next(2)]!(next(2) === 0 ? "olh" : "listed");
    const [state, verifies, honest] = [memoryState(), atOnce(party.publicKey), party.fetch];
    for (let left = PER_DEVICE; left > 0; ) {
      let untouched = next(5);
      const spoilt = Object.assign(Object.create(party) as FakeParty, {
        fetch: async (url: string, init?: RequestInit): Promise<Response> => {
          const answer = await honest(url, init);
          if (untouched-- > 0 || left === 0) return answer;
          left--;
          return mangled(new Uint8Array(await answer.arrayBuffer()), next);
        },
      });
      outcomes.add(await ours(new Player(spoilt, (use) => use(state)).run("77", { platform: { verifies } })));
    }
    assert.ok(party.reports.size <= 1);
  }
  for (const kind of ["peer", "away", "done"]) assert.ok(outcomes.has(kind), kind);
});

test("eight thousand malformed answers to every request are refused or read", async () => {
  const next = numbers(20_260_102);
  const party = await partyOfWeek("listed");
  const [verifies, ticket, group] = [atOnce(party.publicKey), fromHex(TICKET)!, await party.group()];
  const trusted = { task: party.task, party: "north", verifies };
  const client = partyClient("https://party.example", party.task.digest, systemEntropy(), 0);
  const document = (fetched: Uint8Array | null): Uint8Array => fetched ?? new Uint8Array();
  const requests: readonly (() => Promise<unknown>)[] = [
    async () => trustedTask(await client.task(), party.task.digest, "north", verifies),
    async () => enrolmentOf(trusted, document(await client.beacon()), ticket),
    async () => listOf(trusted, document(await client.candidateList(group)), group, listTerms(party.task)),
    async () => campaignOf(trusted, document(await client.campaign("00"))),
    () => client.enrol(ticket), () => client.submit(ticket, ticket), () => client.isOpen(),
  ];
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  for (const ask of requests) {
    let body = new Uint8Array();
    globalThis.fetch = (async (url: string, init?: RequestInit) => {
      const answer = await party.fetch(url, init);
      body = new Uint8Array(await answer.clone().arrayBuffer());
      return answer;
    }) as typeof fetch;
    await ask();
    bodies.push(body);
  }
  const outcomes = new Set<string>();
  for (let answered = 0; answered < ANSWERS - WHOLE_DEVICES; answered++) {
    const which = next(requests.length);
    globalThis.fetch = (async () => mangled(bodies[which]!.slice(), next)) as typeof fetch;
    outcomes.add(await ours(requests[which]!()));
  }
  for (const kind of ["peer", "away", "done"]) assert.ok(outcomes.has(kind), kind);
});

test("an answer that never ends is refused", async () => {
  const player = new Player(await FakeParty.of());
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)) });
  player.party.fault = () => new Response(endless);
  await assert.rejects(player.run(), /bytes of an answer: expected 67108864 at most/);
});
