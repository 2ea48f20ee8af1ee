/** What a device makes of a campaign: one week of each cycle, drawn once, written down before a value is read. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemEntropy } from "../src/adapters/systemEntropy.js";
import { sha256, utf8, hex } from "../src/bytes.js";
import { TreetopError, type DocumentReason } from "../src/errors.js";
import type { DeviceOptions, Status } from "../src/services/singleDevice.js";
import type { Json } from "../src/wire/canonicalJson.js";
import type { CycleSlot, LedgerEntry } from "../src/device/ledger.js";
import { campaignText, FakeParty, STARTS, TICKET, WEEK, weekOf } from "./support/fakeParty.js";
import { fixed } from "./support/fixedEntropy.js";
import { memoryState, scripted } from "./support/memoryDevice.js";
import { Player } from "./support/player.js";

const DAY = 86_400;

/** A device that is started again for every question, with a clock that tests set. */
class World {
  readonly state = memoryState();
  /** What the ledger said whenever the value was read. */
  readonly read: string[] = [];
  drawn = 0;
  posts = 0;
  now = STARTS;
  entropy = systemEntropy();

  constructor(readonly options: Partial<DeviceOptions> = {}) {}

  async ledger(): Promise<{ slots: CycleSlot[]; entries: LedgerEntry[]; version: number }> {
    const written = await this.state.ledger.load();
    return written === null ? { slots: [], entries: [], version: 0 } : JSON.parse(new TextDecoder().decode(written).split("\n")[0]!);
  }

  async party(changes: Record<string, Json>, campaign: string | null = null): Promise<Player> {
    const party = Object.assign(await FakeParty.of(changes), { campaign, beaconOut: true, listsOut: true });
    return new Player(party, (use) => use(this.state));
  }

  /** Return the verdict, or the code or else the kind of the refusal. */
  async asked(changes: Record<string, Json>, campaign: string | null = null): Promise<string> {
    const player = await this.party(changes, campaign);
    const item = async (): Promise<string> => (this.read.push(JSON.stringify(await this.ledger())), "77");
    const entropy = (count: number): Uint8Array => ((this.drawn += count), this.entropy(count));
    try {
      return await player.run(item, { options: this.options, platform: { now: () => this.now, entropy } });
    } catch (error) {
      if (!(error instanceof TreetopError)) throw error;
      return error.code ?? error.kind;
    } finally {
      this.posts += player.party.requests.filter(({ path }) => path.endsWith("/reports")).length;
    }
  }

  /** Return the outcomes of a cycle, each week at its own time. */
  async cycle(campaign: string, cycle = 0): Promise<string[]> {
    const outcomes = [];
    for (let week = 0; week < (JSON.parse(campaign) as { weeks: number }).weeks; week++) {
      const changes = await weekOf(campaign, cycle, week);
      this.now = (changes["deadlines"] as { opens: number }).opens;
      outcomes.push(await this.asked(changes, campaign));
    }
    return outcomes;
  }
}

for (const [oracle, devices, all] of [["olh", 40, 9], ["listed", 5, 4]] as const) {
  test(`a device answers in one week of a cycle, through ${oracle}, and each cycle has a week of its own`, async () => {
    const campaign = campaignText({}, { oracle });
    const pairs = new Set<string>();
    for (let device = 0; device < devices; device++) {
      const world = new World();
      world.entropy = fixed(`${oracle} ${device}`);
      const outcomes = [await world.cycle(campaign), await world.cycle(campaign, 1)];
      const weeks = outcomes.map((found) => found.indexOf("accepted"));
      for (const found of outcomes) assert.deepEqual([...found].sort(), ["accepted", "not_my_week", "not_my_week"]);
      const { slots, entries } = await world.ledger();
      assert.deepEqual(slots.map(({ slot, cycle, weeks: of, epsilon }) => [slot, cycle, of, epsilon]), weeks.map((week, cycle) => [week, cycle, 3, "1"]));
      assert.deepEqual([entries.length, world.read.length, world.posts], [2, 2, 2]);
      pairs.add(weeks.join());
    }
    assert.equal(pairs.size, all);
  });
}

test("the week is drawn uniformly, by rejection, and before any value is read", async () => {
  const campaign = campaignText({ weeks: 12 });
  for (const [script, week] of [[[0x0c, 0x0f, 0x0b], 11], [[0xf3], 3], [[0x00], 0], [[0xff, 0xfe, 0xfd, 0xfc, 0x05], 5]] as const) {
    const world = new World();
    world.entropy = scripted(Uint8Array.from([0, ...script, ...new Uint8Array(4096)]).subarray(1));
    const asked = (week + 1) % 12; // not the own week: nothing else is drawn
    world.now = STARTS + WEEK * asked;
    assert.equal(await world.asked(await weekOf(campaign, 0, asked), campaign), "not_my_week");
    assert.deepEqual([(await world.ledger()).slots.map(({ slot }) => slot), world.drawn, world.read], [[week], script.length, []]);
  }
});

test("the slot and its cost stand in the ledger when the value is read, and say nothing of it", async () => {
  const campaign = campaignText();
  const world = new World();
  await world.cycle(campaign);
  const [seen] = world.read.map((text) => JSON.parse(text) as { slots: CycleSlot[]; entries: LedgerEntry[] });
  assert.deepEqual([seen!.slots.length, seen!.slots[0]!.epsilon, seen!.entries.length, seen!.entries[0]!.sent], [1, "1", 1, null]);
});

test("a missed week is lost and never drawn again", async () => {
  const campaign = campaignText();
  const world = new World();
  world.entropy = scripted(Uint8Array.from([1, ...new Uint8Array(100)])); // its week is the second
  for (const [week, day] of [[0, 0], [2, 14], [0, 15], [2, 20]] as const) {
    world.now = STARTS + DAY * day;
    assert.equal(await world.asked(await weekOf(campaign, 0, week), campaign), day === 15 ? "question" : "not_my_week");
  }
  assert.deepEqual((await world.ledger()).slots.map(({ slot, cycle, time }) => [slot, cycle, time]), [[1, 0, STARTS]]);
  assert.equal(await world.asked(await weekOf(campaign, 0, 1), campaign), "question"); // it is over
  world.now = STARTS + 3 * WEEK;
  assert.match(await world.asked(await weekOf(campaign, 1, 0), campaign), /accepted|not_my_week/);
  assert.deepEqual((await world.ledger()).slots.map(({ cycle }) => cycle), [0, 1]);
});

test("a second task of the own week is not answered", async () => {
  const campaign = campaignText();
  const world = new World();
  const week = (await world.cycle(campaign)).indexOf("accepted");
  world.now = STARTS + WEEK * week;
  const other = { ...(await weekOf(campaign, 0, week)), groups: [[1, "estimate", 7]] };
  assert.equal(await world.asked(other, campaign), "promise");
  assert.deepEqual([world.read.length, world.posts], [1, 1]);
});

const REFUSED: readonly [what: string, change: Record<string, Json>][] = [
  ["of another budget", { epsilon: "2" }], ["of another k", { k: 4 }], ["about something else", { attribute: "weight" }],
  ["of another name", { name: "fruit" }], ["that ends after its week", { deadlines: { opens: STARTS, enrolment: STARTS, reports: STARTS + WEEK + 1, level_seconds: 3600 } }],
  ["that begins before its week", { deadlines: { opens: STARTS - 1, enrolment: STARTS, reports: STARTS + 1, level_seconds: 3600 } }],
  ["of another oracle", { oracle: "walsh" }], ["of other parties", { parties: ["north"] }], ["with a group of its own", { groups: [[1, "validate frequent", 1]] }],
];
for (const [what, change] of REFUSED) {
  test(`a week ${what} is refused before anything is drawn, read or written`, async () => {
    const campaign = campaignText();
    const world = new World();
    const changes = { ...(await weekOf(campaign, 0, 0)), ...change };
    delete (changes as Record<string, Json>)["thresholds"];
    assert.equal(await world.asked(changes, campaign), "document_other");
    assert.deepEqual([world.drawn, world.read, world.posts, (await world.ledger()).version], [0, [], 0, 0]);
  });
}

test("a week may have what earlier answers give it", async () => {
  const campaign = campaignText();
  for (const change of [{ groups: [[2, "estimate", 7]] }, { encoding: { name: "ids", hash_key: "of this week" } }, { settings: { hash_key: "x" } }, { settings: { seeds: "[]" } }] as Record<string, Json>[]) {
    const outcome = await new World().asked({ ...(await weekOf(campaign, 0, 0)), ...change }, campaign);
    assert.match(outcome, /accepted|not_my_week/);
  }
});

test("the list that a task names is there before a week is paid for", async () => {
  const listed = { oracle: "olh", reports: "names", lengths: [0, 8], groups: [[1, "estimate", 1]], encoding: { name: "catalogue", hash_key: "" } };
  const campaign = campaignText({}, listed);
  const world = new World();
  const changes = { ...(await weekOf(campaign, 0, 0)), item_list: "00".repeat(32) };
  assert.equal(await world.asked(changes, campaign), "later");
  const player = await world.party(changes, campaign);
  player.party.items = utf8("not the list");
  await assert.rejects((await player.open({ platform: { now: () => world.now } })).check(), { kind: "peer" });
  assert.deepEqual([world.drawn, world.read, (await world.ledger()).version], [0, [], 0]);
});

const IMPOSSIBLE: readonly [what: string, text: () => string, reason: DocumentReason][] = [
  ["of one week", () => campaignText({ weeks: 1 }), "range"], ["of 1,025 weeks", () => campaignText({ weeks: 1025 }), "range"], ["without a cycle", () => campaignText({ cycles: 0 }), "range"],
  ["of weeks without a second", () => campaignText({ every: 0 }), "range"], ["that begins before 1970", () => campaignText({ starts: -1 }), "range"],
  ["that never ends", () => campaignText({ every: Number.MAX_SAFE_INTEGER }), "meaning"], ["of half weeks", () => campaignText({ weeks: 2.5 }), "form"],
  ["with another field", () => campaignText({ zest: 1 }), "fields"], ["with a list of items", () => campaignText({}, { item_list: "00".repeat(32) }), "meaning"],
  ["with weights", () => campaignText({}, { groups: [[1, "estimate", 2]] }), "meaning"], ["in another form", () => ` ${campaignText()}`, "form"],
  ["that is no JSON", () => "{", "form"], ["that is null", () => "null", "type"],
];
for (const [what, text, reason] of IMPOSSIBLE) {
  test(`a campaign ${what} is refused`, async () => {
    const world = new World();
    const changes = await weekOf(campaignText(), 0, 0);
    (changes["campaign"] as { campaign: string }).campaign = hex(await sha256(utf8("treetop campaign 1\0"), utf8(text())));
    assert.equal(await world.asked(changes, text()), `document_${reason}`);
    assert.equal((await world.ledger()).version, 0);
  });
}

test("a campaign that is not signed, not there, or another, is not believed", async () => {
  const campaign = campaignText();
  const world = new World();
  const changes = await weekOf(campaign, 0, 0);
  assert.equal(await world.asked(changes), "later");
  assert.equal(await world.asked(changes, campaignText({ cycles: 3 })), "document_other");
  const player = await world.party(changes, campaign);
  player.party.fault = ({ path }) =>
    path.startsWith("/v1/campaigns/") ? new Response(JSON.stringify({ content: campaign, kind: "campaign", signature: "00".repeat(64) })) : null;
  await assert.rejects(player.run(), /signature: expected one of a pinned key/);
  assert.equal((await world.ledger()).version, 0);
});

test("a campaign cannot change its terms under its name", async () => {
  const world = new World();
  const campaign = campaignText();
  await world.asked(await weekOf(campaign, 0, 0), campaign);
  const before = await world.ledger();
  const spelt = "FRUIT\u{e0100}";
  for (const other of [campaignText({ weeks: 4 }, { name: spelt }), campaignText({}, { epsilon: "2", name: spelt })]) {
    assert.equal(await world.asked(await weekOf(other, 0, 0), other), "question");
    assert.deepEqual(await world.ledger(), before);
  }
  const renamed = campaignText({ weeks: 4 }, { name: "another" });
  await world.asked(await weekOf(renamed, 0, 0), renamed);
  assert.equal((await world.ledger()).slots.length, 2);
});

test("a clock that is set back renews nothing: what is charged then counts from the newest entry on", async () => {
  const world = new World();
  assert.equal(await world.asked({ epsilon: "2" }), "accepted");
  world.now = STARTS - 400 * DAY;
  assert.equal(await world.asked({ epsilon: "2", name: "second" }), "accepted");
  assert.deepEqual((await world.ledger()).entries.map(({ time }) => time), [STARTS, STARTS]);
  world.now = STARTS + 84 * DAY - 1;
  assert.equal(await world.asked({ epsilon: "1", name: "third" }), "budget_window");
});

test("campaigns and single tasks share the caps; a window is renewed", async () => {
  const world = new World();
  const [one, two] = [campaignText({}, { epsilon: "4" }), campaignText({}, { epsilon: "4", name: "other" })];
  assert.match(await world.asked(await weekOf(one, 0, 0), one), /accepted|not_my_week/);
  const before = await world.ledger();
  assert.equal(await world.asked(await weekOf(two, 0, 0), two), "budget_window");
  assert.equal(await world.asked({ epsilon: "0.5" }), "budget_window");
  world.now = STARTS - 400 * DAY;
  assert.equal(await world.asked({ epsilon: "0.5" }), "budget_window");
  assert.deepEqual(await world.ledger(), before);
  world.now = STARTS + 84 * DAY - 1;
  assert.equal(await world.asked({ epsilon: "4" }), "budget_window");
  world.now++;
  assert.equal(await world.asked({ epsilon: "4" }), "accepted");
  world.now += 84 * DAY;
  assert.equal(await world.asked({ epsilon: "0.5", name: "third" }), "budget_lifetime");
  assert.equal(await new World().asked({ epsilon: "4.5" }), "budget_task");
  assert.equal(await new World({ caps: { perTask: "5" } }).asked({ epsilon: "4.5" }), "accepted"); // what one task may cost a window may
  assert.equal(await new World({ caps: { window: "2" } }).asked({ epsilon: "2.5" }), "budget_window");
  assert.equal(await new World({ caps: { windowDays: 0 } }).asked({}), "input");
});

test("a week that is drawn is answered though the caps are full", async () => {
  const world = new World({ caps: { lifetime: "4" } });
  assert.equal((await world.cycle(campaignText({}, { epsilon: "4" }))).filter((outcome) => outcome === "accepted").length, 1);
});

test("the size of everything that is sent in a week says nothing of the value", async () => {
  const campaign = campaignText();
  const changes = await weekOf(campaign, 0, 0);
  const footprints = new Set<string>();
  const script = new Uint8Array(4096).map((_, place) => (place === 0 ? 0 : (167 * place + 13 * place * place) & 255)); // its week is the first
  for (const item of ["0", "77", "no code", "", "9".repeat(1000), new Uint8Array([255])]) {
    const party = Object.assign(await FakeParty.of(changes), { campaign });
    const entropy = scripted(script);
    assert.equal(await new Player(party).run(item, { platform: { entropy } }), "accepted");
    footprints.add(`${entropy.taken()} ${party.requests.map(({ path, body }) => `${path.length} ${body.length}`).join()}`);
  }
  assert.equal(footprints.size, 1);
});

test("a device that may not answer tells its party once, and nothing but its code", async () => {
  const campaign = campaignText();
  const world = new World();
  world.entropy = scripted(Uint8Array.from([2, ...new Uint8Array(100)]));
  const player = await world.party(await weekOf(campaign, 0, 0), campaign);
  const device = await player.open({ platform: { entropy: world.entropy, now: () => world.now } });
  for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(device.answer("77"), { code: "not_my_week" });
  await assert.rejects(device.check(), { code: "not_my_week" });
  assert.deepEqual([player.party.refusals, player.party.reports.size], [[`01${TICKET}00`], 0]);
  for (const [number, caps] of [[1, { window: "0.5" }], [2, { lifetime: "0.5" }], [3, { perTask: "0.5" }]] as const) {
    const refused = new Player(await FakeParty.of());
    await assert.rejects(refused.run("77", { options: { caps } }), { kind: "budget" });
    assert.deepEqual(refused.party.refusals, [`01${TICKET}0${number}`]);
  }
});

test("a party that does not hear it changes nothing", async () => {
  for (const fault of [new Response("", { status: 404 }), new Response("{", { status: 200 }), new Response("", { status: 500 })]) {
    const player = new Player(await FakeParty.of());
    player.party.fault = ({ path }) => (/(refusals|ticket-checks)$/.test(path) ? fault.clone() : null);
    await assert.rejects(player.run("77", { options: { caps: { window: "0.5" } } }), { code: "budget_window" });
  }
});

test("the status says in which week the device answers, and when the window is renewed", async () => {
  const campaign = campaignText({ weeks: 12 });
  const world = new World();
  world.entropy = scripted(Uint8Array.from([6, ...new Uint8Array(100)]));
  const status = async (): Promise<Status> =>
    (await (await world.party(await weekOf(campaign, 0, 0), campaign)).open({ platform: { now: () => world.now } })).status();
  assert.deepEqual([(await status()).week, (await status()).window], [null, { spent: "0", most: "4", renews: null }]);
  assert.equal(await world.asked(await weekOf(campaign, 0, 0), campaign), "not_my_week");
  const { week, window, spent, stage } = await status();
  assert.deepEqual(week, { week: 7, weeks: 12, opens: STARTS + 6 * WEEK, ends: STARTS + 7 * WEEK });
  assert.deepEqual([window, spent, stage], [{ spent: "1", most: "4", renews: STARTS + 84 * DAY }, "1", "new"]);
});
