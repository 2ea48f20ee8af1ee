/** The device with files: flushed before anything is sent, one report whatever step it is killed at, one process at a time. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nodeState } from "../src/adapters/nodeState.js";
import { systemEntropy } from "../src/adapters/systemEntropy.js";
import { openDevice } from "../src/node.js";
import type { Entropy } from "../src/randomness.js";
import { campaignText, FakeParty, TICKET, weekOf } from "./support/fakeParty.js";
import { stepping } from "./support/killedDevice.js";
import { Player } from "./support/player.js";

const FOLDERS = mkdtempSync(join(tmpdir(), "treetop-node-"));
process.on("exit", () => rmSync(FOLDERS, { recursive: true, force: true }));
const folder = (): string => mkdtempSync(join(FOLDERS, "device-"));

test("what is sent was flushed before: the ledger's file, and the folder that names it", async () => {
  const events: string[] = [];
  const handle = await open(folder(), "r");
  const prototype = Object.getPrototypeOf(handle) as { sync: () => Promise<void> };
  const sync = prototype.sync;
  await handle.close();
  const where = folder();
  prototype.sync = async function (this: typeof handle) {
    const isFolder = (await this.stat()).isDirectory();
    await sync.call(this);
    events.push(isFolder ? `folder ${readdirSync(where).sort().join()}` : "file");
  };
  try {
    const party = await FakeParty.of();
    party.fault = ({ path }) => (path.endsWith("/reports") ? (events.push("sent"), null) : null);
    assert.equal(await new Player(party, nodeState(where)).run(), "accepted");
  } finally {
    prototype.sync = sync;
  }
  const sent = events.indexOf("sent");
  const before = events.slice(0, sent);
  assert.ok(sent > 0);
  assert.ok(before.some((event) => event.startsWith("folder") && event.includes("ledger.1") && event.includes("ledger.new")));
  assert.match(before.filter((event) => event.includes("ledger.2")).join(), /ledger\.2/);
  for (const [place, event] of before.entries()) if (event.startsWith("folder")) assert.equal(before[place - 1], "file");
  assert.match(readFileSync(join(where, "ledger.3"), "ascii"), /"delivered":true/);
});

test("files are for their owner alone, and nothing is left lying about", async () => {
  const where = join(folder(), "me");
  assert.equal(await new Player(await FakeParty.of(), nodeState(where)).run(), "accepted");
  const names = readdirSync(where).sort();
  assert.deepEqual(names.map((name) => name.replace(/-[0-9a-f]{64}$/, "-")), ["counter", "ledger.3", "ticket-"]);
  for (const name of names) assert.equal(statSync(join(where, name)).mode & 0o777, 0o600, name);
  assert.equal(statSync(where).mode & 0o777, 0o700);
});

class PowerCut extends Error {}

/** The system's bytes, but single ones are zero: the own week is the first. */
function ofFirstWeek(read: Entropy): Entropy {
  return (count) => (count === 1 ? new Uint8Array(1) : read(count));
}

for (const [oracle, campaign] of [["olh", null], ["krr", null], ["olh", campaignText()]] as const) {
  test(`a device with ${oracle}${campaign ? " in its week of a campaign" : ""} that ends at any step sends one report, and it arrives after a restart`, async () => {
    const changes = campaign ? await weekOf(campaign, 0, 0) : { oracle };
    const ready = async (): Promise<FakeParty> => Object.assign(await FakeParty.of(changes), { beaconOut: true, listsOut: true, campaign });
    for (let fatal = 0, finished = false; !finished; fatal++) {
      const [party, where] = [await ready(), folder()];
      let left = fatal;
      const step = (): void => {
        if (left-- === 0) throw new PowerCut();
      };
      party.fault = () => (step(), null);
      const system = ofFirstWeek(systemEntropy());
      const entropy = (count: number): Uint8Array => (step(), system(count));
      const item = (): string => (step(), "77");
      const player = new Player(party, stepping(nodeState(where), step));
      const ended = await player.run(item, { platform: { entropy } }).then(() => true, () => false);
      finished = ended && left > 0;
      assert.ok(party.reports.size <= 1);
      party.fault = () => null;
      const again = await new Player(party, nodeState(where)).run(() => "12", { platform: { entropy: system } });
      assert.match(again, /accepted|replayed/);
      assert.equal(party.reports.size, 1, `ended before step ${fatal}`);
      const status = await (await new Player(party, nodeState(where)).open()).status();
      assert.deepEqual([status.stage, status.spent], ["delivered", "1"]);
      if (finished) assert.ok(fatal > 25, `${fatal} steps`);
    }
  });
}

test("of several processes with one folder at most one makes a report", async () => {
  const [party, where] = [await FakeParty.of(), folder()];
  const runs = Array.from({ length: 8 }, () => new Player(party, nodeState(where)).run().catch((error: Error) => error.message));
  const outcomes = await Promise.all(runs);
  assert.ok(outcomes.includes("accepted"), outcomes.join("; "));
  assert.equal(party.reports.size, 1);
});

test("an older ledger put back in its place is noticed", async () => {
  const [party, where] = [await FakeParty.of(), folder()];
  const state = nodeState(where);
  party.verdict = () => "too_early";
  await assert.rejects(new Player(party, state).run());
  const older = readFileSync(join(where, "ledger.2"));
  party.verdict = () => null;
  await new Player(party, state).run();
  const { rmSync } = await import("node:fs");
  rmSync(join(where, "ledger.3"));
  writeFileSync(join(where, "ledger.2"), older);
  await assert.rejects(new Player(party, state).run(), /counter of the ledger: expected 3 at least, found 2/);
  writeFileSync(join(where, "counter"), "three");
  await assert.rejects(new Player(party, state).run(), /counter is damaged/);
});

test("the package's own entry answers", async () => {
  const party = await FakeParty.of();
  globalThis.fetch = party.fetch as typeof fetch;
  const device = await openDevice({
    party: "https://party.example", partyName: "north", task: party.task.digest, serverKeys: [party.publicKey], ticket: TICKET, state: folder(),
  });
  assert.deepEqual([device.task.name, device.task.epsilon], ["fruit", "1"]);
  assert.equal(await device.answer("77"), "accepted");
});
