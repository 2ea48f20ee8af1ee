/** One device and its party: one report, refusals on public grounds, the same bytes on every retry. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device } from "../src/device/device.js";
import { assignedGroup } from "../src/device/groupAssignment.js";
import { Ledger } from "../src/device/ledger.js";
import { hex, sha256, utf8 } from "../src/bytes.js";
import { TreetopError, type Kind } from "../src/errors.js";
import { systemEntropy } from "../src/adapters/systemEntropy.js";
import { rational } from "../src/rational.js";
import { LONGEST_ITEM } from "../src/encoding/deviceItems.js";
import { deviceSet, setFace, type OwnItems } from "../src/sets.js";
import type { DeviceOptions } from "../src/services/singleDevice.js";
import { canonicalJson, type Json } from "../src/wire/canonicalJson.js";
import { FakeParty, TICKET } from "./support/fakeParty.js";
import { memoryState, scripted } from "./support/memoryDevice.js";
import { Player } from "./support/player.js";

async function kindOf(run: Promise<unknown>): Promise<Kind | "done"> {
  return run.then(() => "done" as const, (error: unknown) => {
    if (!(error instanceof TreetopError)) throw error;
    return error.kind;
  });
}

test("a report is made and delivered, and later the same bytes are sent again", async () => {
  const player = new Player(await FakeParty.of());
  assert.equal(await player.run(), "accepted");
  assert.equal(await player.run("12"), "replayed");
  assert.equal(player.party.reports.size, 1);
  assert.equal(player.read.length, 1);
  assert.match(player.told.join(" "), /made, for epsilon 1, .*Delivered: the party has it.*made before.*had it already/);
  const status = await (await player.open()).status();
  assert.deepEqual([status.stage, status.spent, status.lifetime, status.report?.length], ["delivered", "1", "8", 77 + 5]);
});

test("two hundred retries are one byte string and one reading of the value", async () => {
  const player = new Player(await FakeParty.of());
  player.party.verdict = () => "too_early";
  for (let attempt = 0; attempt < 200; attempt++) assert.equal(await kindOf(player.run()), "later");
  player.party.verdict = () => null;
  assert.equal(await player.run(), "accepted");
  const uploads = player.party.requests.filter(({ path }) => path.endsWith("/reports")).map(({ body }) => body.join());
  assert.deepEqual([uploads.length, new Set(uploads).size, player.read.length], [201, 1, 1]);
});

test("a report that the party refuses for good is not made anew", async () => {
  const player = new Player(await FakeParty.of());
  player.party.verdict = () => "ticket_spent";
  assert.equal(await kindOf(player.run()), "refused");
  assert.equal(await kindOf(player.run()), "refused");
  assert.equal(new Set(player.party.requests.filter(({ path }) => path.endsWith("/reports")).map(({ body }) => body.join())).size, 1);
});

for (const oracle of ["olh", "walsh", "krr", "oue"]) {
  test(`the size of everything that ${oracle} sends says nothing of the value`, async () => {
    const footprints = new Set<string>();
    const script = new Uint8Array(20_000).map((_, place) => (167 * place + 13 * place * place) & 255);
    for (const item of ["0", "77", "255", "256", "no code", "", "9".repeat(1000), "\ud800", new Uint8Array([255])]) {
      const party = await FakeParty.of({ oracle });
      party.beaconOut = party.listsOut = true;
      const entropy = scripted(script);
      await new Player(party).run(item, { platform: { entropy } });
      const sizes = party.requests.map(({ path, body }) => `${path.length} ${body.length}`);
      footprints.add(`${entropy.taken()} ${sizes.join()}`);
    }
    assert.equal(footprints.size, 1);
  });
}

const REFUSALS: readonly [what: string, task: Record<string, Json>, options: Partial<DeviceOptions>, kind: Kind][] = [
  ["over", { deadlines: { opens: 0, enrolment: 1, reports: 2, level_seconds: 1 } }, {}, "question"],
  ["not open yet", { deadlines: { opens: 1_900_000_000, enrolment: 1_900_000_000, reports: 1_900_000_000, level_seconds: 1 } }, {}, "question"],
  ["over for whoever has not enrolled", { oracle: "krr", deadlines: { opens: 0, enrolment: 1, reports: 1_900_000_000, level_seconds: 1 } }, {}, "question"],
  ["of other parties", { parties: ["south"] }, {}, "question"],
  ["above the cap of a task", {}, { caps: { perTask: "0.5" } }, "budget"],
  ["above the cap of a lifetime", {}, { caps: { lifetime: "0.5" } }, "budget"],
  ["about something else", {}, { caps: { attribute: "weight" } }, "question"],
  ["of lists too short for its owner", { oracle: "krr" }, { caps: { leastSlots: 6 } }, "question"],
  ["of lists that begin with one bit", { oracle: "oue", lengths: [0, 1, 4, 8] }, {}, "question"],
  ["of an unknown encoding", { encoding: { name: "runes", hash_key: "" } }, {}, "question"],
  ["of texts in nine bits", { encoding: { name: "text", hash_key: "" }, lengths: [0, 2, 4, 9] }, {}, "question"],
  ["of another digest", {}, { task: "00".repeat(32) }, "question"],
  ["named by no digest", {}, { task: "fruit" }, "input"],
  ["with no ticket", {}, { ticket: "none" }, "input"],
];
for (const [what, task, options, kind] of REFUSALS) {
  test(`a task ${what} is refused before anything is drawn, read or sent`, async () => {
    const state = memoryState();
    const player = new Player(await FakeParty.of(task), (use) => use(state));
    assert.equal(await kindOf(player.run(undefined, { options })), kind);
    assert.deepEqual([player.read.length, player.drawn], [0, 0]);
    const sent = player.party.requests.filter(({ method }) => method === "POST").map(({ path }) => path.split("/").at(-1));
    assert.deepEqual(sent, kind === "budget" ? ["refusals"] : []); // a code, which the party may count
    assert.equal(await state.ledger.load(), null);
  });
}

for (const [verdict, kind] of [["ticket_forged", "refused"], ["ticket_spent", "refused"], ["too_early", "later"]] as const) {
  test(`a ticket that is ${verdict} is noticed before anything is spent on it`, async () => {
    const state = memoryState();
    const player = new Player(await FakeParty.of(), (use) => use(state));
    player.party.ticketVerdict = verdict;
    assert.equal(await kindOf(player.run()), kind);
    assert.deepEqual([player.read.length, await state.ledger.load(), player.party.reports.size], [0, null, 0]);
    player.party.ticketVerdict = "accepted";
    assert.equal(await player.run(), "accepted");
  });
}

test("an address is https, or this machine's", async () => {
  const player = new Player(await FakeParty.of());
  for (const party of ["http://party.example", "ftp://x", "https://a@b", "https://x?y", "//x", "https://x y", "http://127.0.0.1.example"]) {
    assert.equal(await kindOf(player.run(undefined, { options: { party } })), "input", party);
  }
  for (const party of ["https://party.example/", "http://127.0.0.1:8451", "http://localhost/base/", "http://[::1]:80"]) {
    assert.match(await player.run(undefined, { options: { party } }), /accepted|replayed/);
  }
});

test("rounds go on from run to run, enrolled once", async () => {
  const player = new Player(await FakeParty.of({ oracle: "krr" }));
  assert.equal(await kindOf(player.run()), "later");
  player.party.beaconOut = true;
  assert.equal(await kindOf(player.run()), "later");
  assert.equal(player.read.length, 0);
  player.party.listsOut = true;
  assert.equal(await player.run(), "accepted");
  assert.equal(player.party.enrolled, 1);
  const [level] = await player.party.group();
  assert.match(player.told.join(" "), new RegExp(`Enrolled.*answers at level ${level} \\(estimate\\)`));
});

test("at the first party of a task validation sets estimate", async () => {
  const { task } = await FakeParty.of({ oracle: "krr", groups: [[2, "validate frequent", 1]] });
  const enrolment = { identifier: new Uint8Array(8), beacon: new Uint8Array(16) };
  assert.deepEqual(await assignedGroup(task, { ...enrolment, party: "south" }), [2, "estimate"]);
  assert.deepEqual(await assignedGroup(task, { ...enrolment, party: "north" }), [2, "validate frequent"]);
});

async function listDocument(items: readonly string[]): Promise<{ document: Uint8Array; digest: string }> {
  const json = utf8(canonicalJson({ items, ordered: false, source: "a test" }));
  const compressed = new Blob([json]).stream().pipeThrough(new CompressionStream("deflate"));
  const document = new Uint8Array(await new Response(compressed).arrayBuffer());
  return { document, digest: hex(await sha256(utf8("treetop item list 1\0"), json)) };
}

const NAMES = { oracle: "walsh", reports: "names", groups: [[1, "estimate", 1]] } as const;

test("a catalogue is fetched, checked against the signed task, and answered; without it nothing is", async () => {
  const { document, digest } = await listDocument(["apple", "kiwi"]);
  const party = await FakeParty.of({ ...NAMES, lengths: [0, 8], encoding: { name: "catalogue", hash_key: "" }, item_list: digest });
  const player = new Player(party);
  assert.equal(await kindOf(player.run()), "later");
  party.items = (await listDocument(["apple", "kiwi", "plum"])).document;
  assert.equal(await kindOf(player.run()), "peer");
  party.items = document.slice(0, -3);
  assert.equal(await kindOf(player.run()), "peer");
  assert.deepEqual([player.read.length, player.drawn], [0, 0]);
  party.items = document;
  assert.equal(await player.run(), "accepted");
  party.closed = true;
  party.items = null;
  assert.equal(await kindOf(new Player(party).run()), "question");
});

test("a name and the chunks behind it are reported, whatever the item", async () => {
  const encoding = { name: "hashed", hash_key: "a key", normalise: "nfc,casefold,trim" };
  const task = { ...NAMES, lengths: [0, 24, 32, 40], groups: [[1, "estimate", 1], [2, "estimate", 1], [3, "estimate", 1]], encoding };
  const footprints = new Set<string>();
  const script = new Uint8Array(20_000).map((_, place) => (131 * place + 17 * place * place) & 255);
  for (const item of ["chai", " CHAI ", "", "x".repeat(5000), "\ud800", "天气预报"]) {
    const party = await FakeParty.of(task);
    const entropy = scripted(script);
    assert.equal(await new Player(party).run(item, { platform: { entropy } }), "accepted");
    footprints.add(`${entropy.taken()} ${party.requests.map(({ path, body }) => `${path.length} ${body.length}`).join()}`);
  }
  assert.equal(footprints.size, 1);
});

for (const oracle of ["olh", "walsh"]) {
  test(`a set is reported through ${oracle}, whatever is in it`, async () => {
    const footprints = new Set<string>();
    const script = new Uint8Array(20_000).map((_, place) => (89 * place + 23 * place * place) & 255);
    for (const items of [[], ["7"], ["7", "9", "7"], Array.from({ length: 300 }, (_, item) => `${item}`), ["no code", new Uint8Array([255]), "\ud800"], "7"]) {
      const party = await FakeParty.of({ oracle, sets: { items_per_user: 4, reading: "holders" } });
      const entropy = scripted(script);
      assert.equal(await new Player(party).run(items, { options: { holdsSet: true }, platform: { entropy } }), "accepted");
      footprints.add(`${entropy.taken()} ${party.requests.map(({ path, body }) => `${path.length} ${body.length}`).join()}`);
    }
    assert.equal(footprints.size, 1);
  });
}

test("of a set no second draw is ever made: later tries, with other items too, send the same bytes", async () => {
  const player = new Player(await FakeParty.of({ sets: { items_per_user: 2, reading: "holders" } }));
  player.party.verdict = () => "too_early";
  const sets = Array.from({ length: 40 }, (_, set) => Array.from({ length: set }, (_, item) => `${item + set}`));
  for (const items of sets) assert.equal(await kindOf(player.run(items)), "later");
  player.party.verdict = () => null;
  assert.equal(await player.run([]), "accepted");
  const uploads = player.party.requests.filter(({ path }) => path.endsWith("/reports")).map(({ body }) => hex(body));
  assert.deepEqual([uploads.length, new Set(uploads).size], [sets.length + 1, 1]);
});

test("the codec is called as often whatever the set", async () => {
  const question = { items_per_user: 4, reading: "holders" } as const;
  const calls = new Set<number>();
  for (const items of [[], ["7"], ["7", "7"], ["1", "2", "3", "4"], Array.from({ length: 99 }, (_, item) => `${item}`), ["\ud800"]]) {
    let [called, bytes] = [0, 0];
    const own = deviceSet((text) => (called++, (bytes += utf8(text).length), 7n), items, [], question);
    await setFace("olh", rational(3n), question).draw(systemEntropy())(own.map(([entry, code]) => [entry, () => code() ?? 0n]));
    calls.add(called);
    assert.equal(bytes, 4 * LONGEST_ITEM);
  }
  assert.deepEqual([...calls], [8]);
});

test("whoever holds a set is not asked for one item of it", async () => {
  const player = new Player(await FakeParty.of());
  assert.equal(await kindOf(player.run(undefined, { options: { holdsSet: true } })), "question");
  assert.deepEqual([player.read.length, player.drawn], [0, 0]);
});

test("parts of texts stand behind hashes only", async () => {
  const task = { ...NAMES, lengths: [0, 24, 32], groups: [[2, "estimate", 1]], encoding: { name: "ids", hash_key: "" } };
  assert.equal(await kindOf(new Player(await FakeParty.of(task)).run()), "question");
});

test("a task that closes before its list is published is not waited for", async () => {
  const player = new Player(await FakeParty.of({ oracle: "krr" }));
  player.party.closed = true;
  assert.equal(await kindOf(player.run(undefined, { options: { wait: true } })), "question");
});

test("a second list of the same task gets no answer", async () => {
  const player = new Player(await FakeParty.of({ oracle: "krr", groups: [[2, "estimate", 1]] }));
  player.party.beaconOut = player.party.listsOut = true;
  assert.equal(await kindOf(player.run(() => Promise.reject(new Error("not now")))), "value"); // paid for, not made
  player.party.pruned = 2;
  assert.equal(await kindOf(player.run()), "promise");
  assert.equal(player.read.length, 0);
});

test("whatever the value's reader says is not repeated", async () => {
  const player = new Player(await FakeParty.of());
  await assert.rejects(player.run(() => { throw new Error("77 is secret"); }), (error: Error) => !/77|secret/.test(`${error.message} ${error.stack}`));
  assert.equal(await player.run(), "accepted");
});

test("a ticket is fetched once and kept", async () => {
  const player = new Player(await FakeParty.of());
  let fetched = 0;
  const options = { ticket: () => (fetched++, TICKET) };
  await player.run(undefined, { options });
  await player.run(undefined, { options });
  assert.equal(fetched, 1);
});

test("a delay is drawn before the value is read", async () => {
  const player = new Player(await FakeParty.of());
  assert.equal(await player.run(undefined, { options: { maxDelay: 20 } }), "accepted");
  assert.ok(player.drawn > 0);
});

test("tasks add up to the lifetime cap, in exact rationals, whoever names them", async () => {
  const state = memoryState();
  const kinds: string[] = [];
  for (let number = 0; number < 81; number++) {
    const party = await FakeParty.of({ name: `task ${number}`, epsilon: "0.1", attribute: number === 3 ? "FAVOURITE " : "favourite" });
    kinds.push(await kindOf(new Player(party, (use) => use(state)).run(undefined, { options: { caps: { window: "8" } } })));
  }
  assert.deepEqual([kinds.filter((kind) => kind === "done").length, kinds.at(-1)], [80, "budget"]);
  const other = new Player(await FakeParty.of({ name: "other", epsilon: "0.001", attribute: "weight" }), (use) => use(state));
  assert.equal(await kindOf(other.run()), "question");
});

test("an older ledger, a damaged one and a foreign one are refused", async () => {
  const party = await FakeParty.of();
  const faults: readonly [spoil: (bytes: Uint8Array) => Uint8Array | null, told: RegExp][] = [
    [() => null, /counter of the ledger: expected 3 at least, found 0/],
    [(bytes) => bytes.map((byte, place) => (place === 40 ? byte ^ 1 : byte)), /checksum/],
    [(bytes) => bytes.slice(0, -1), /checksum/],
  ];
  for (const [spoil, told] of faults) {
    const state = memoryState();
    assert.equal(await new Player(party, (use) => use(state)).run(), "accepted");
    const kept = (await state.ledger.load())!;
    const spoilt = { ...state, ledger: { ...state.ledger, load: () => Promise.resolve(spoil(kept)) } };
    await assert.rejects(new Player(party, (use) => use(spoilt)).run(), told);
  }
});

test("a device backs off while its party is busy, and sends the same bytes", async () => {
  const player = new Player(await FakeParty.of());
  const answers = [429, 503, 502, 0, 408];
  player.party.fault = ({ path }) => {
    const status = path.endsWith("/reports") ? answers.shift() : undefined;
    if (status === 0) throw new TypeError("network");
    return status === undefined ? null : new Response("", { status, headers: { "Retry-After": "0" } });
  };
  assert.equal(await player.run(undefined, { options: { retryFor: 20_000 } }), "accepted");
  const uploads = player.party.requests.filter(({ path }) => path.endsWith("/reports")).map(({ body }) => body.join());
  assert.deepEqual([uploads.length, new Set(uploads).size], [6, 1]);
  player.party.fault = () => new Response("", { status: 503 });
  await assert.rejects(player.run(), /does not answer: status 503/);
});

test("random bytes are those of the operating system, none twice", () => {
  const read = systemEntropy();
  const seen = new Set<string>();
  for (let number = 0; number < 2000; number++) seen.add(read(16).join());
  assert.equal(seen.size, 2000);
  assert.equal(read(200_000).length, 200_000);
  assert.ok(read(200_000).subarray(100_000).some((byte) => byte > 0));
});

test("a device that is asked again answers once", () => asksAgain({}, 7n));

test("a device with a set answers once, and speaks of the same items", () => {
  const own = Array.from({ length: 9 }, (_, item) => [utf8(`${item}`), () => BigInt(item)] as const);
  return asksAgain({ sets: { items_per_user: 2, reading: "holders" } }, own);
});

async function asksAgain(changes: Record<string, Json>, own: bigint | OwnItems): Promise<void> {
  const { ledger, counter } = memoryState();
  const { task } = await FakeParty.of(changes);
  const caps = { perTask: rational(4n), lifetime: rational(8n), window: rational(8n), windowSeconds: 1, attribute: undefined, leastSlots: 5 };
  const opened = async (): Promise<Device> => new Device(() => Promise.resolve(own), systemEntropy(), await Ledger.open(ledger, counter, caps, () => 0));
  const device = await opened();
  const reports = [await device.answerOnce(task), await device.answerOnce(task), await (await opened()).answerOnce(task)];
  assert.equal(new Set(reports.map(hex)).size, 1);
}
