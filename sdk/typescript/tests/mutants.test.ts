/** Mistakes that a device must not have: each is put into a copy of the package, and a named test must fail on it. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

type Mutant = readonly [file: string, from: string, to: string, suite: string, killer: string];

const MUTANTS: readonly Mutant[] = [
  ["oracles/krr", "other + (other >= slot ? 1n : 0n)", "other", "vectors", "draws.json"],
  ["oracles/krr", "word < keep", "word <= keep", "vectors", "draws.json"],
  ["oracles/krr", "BigInt(slots - 1) * denominator", "BigInt(slots - 2) * denominator", "vectors", "thresholds.json"],
  ["oracles/oue", "HALF : flip", "flip : HALF", "vectors", "draws.json"],
  ["oracles/oue", "quotientAbove(denominator", "quotient(denominator", "vectors", "thresholds.json"],
  ["oracles/olh", "bytesNumber(entropy(SEED_BYTES))", "0n", "vectors", "draws.json"],
  ["oracles/walsh", "outcomeOf(seed, key, slots) : other", "other : outcomeOf(seed, key, slots)", "vectors", "draws.json"],
  ["oracles/registry", "3n * odds.numerator", "2n * odds.numerator", "vectors", "choices.json"],
  ["oracles/setReports", "bucket >= each ? 1n : 0n", "0n", "vectors", "set_reports.json"],
  ["oracles/setReports", "slice(0, items)", "slice(0)", "vectors", "set_reports.json"],
  ["oracles/setReports", "BigInt(found.length) * own", "BigInt(items) * own", "vectors", "set_reports.json"],
  ["oracles/setReports", "found = new Set(", "found = Array.from(", "vectors", "set_reports.json"],
  ["oracles/setReports", "marked.sort(", "marked.reverse(", "vectors", "set_reports.json"],
  ["encoding/deviceSets", "entries.set(hex(entry)", "entries.set(`${number}`", "vectors", "device_sets.json"],
  ["encoding/deviceSets", "lacking > 0", "lacking > items_per_user", "singleDevice", "called as often"],
  ["encoding/deviceSets", 'reading === "use_shares"', "false", "vectors", "device_sets.json"],
  ["device/device", "setFace ?? ", "", "vectors", "device_sets.json"],
  ["budget", "GRID_BITS = 192n", "GRID_BITS = 40n", "vectors", "thresholds.json"],
  ["randomness", "if (drawn < bound) return drawn;", "return drawn % bound;", "vectors", "draws.json"],
  ["wire/documents", 'need(canonicalJson(content) === fromUtf8(document), "form"', 'need(true, "form"', "vectors", "tasks.json"],
  ["wire/documents", 'need(known, "fields"', 'need(true, "fields"', "vectors", "documents.json"],
  ["wire/signedDocuments", 'need(signed, "signature"', 'need(true, "signature"', "vectors", "signed_documents.json"],
  ["device/campaigns", '["hash_key", "seeds"]', '["hash_key"]', "campaigns", "what earlier answers give it"],
  ["services/singleDevice", "if (campaign && !ownWeek(campaign, ledger)) codec = await taskCodec();", "", "campaigns", "before a week is paid for"],
  ["device/listChecks", 'refuse(all, "candidates"', 'refuse(true, "candidates"', "vectors", "questions.json"],
  ["device/listChecks", "slots >= leastSlots", "true", "vectors", "questions.json"],
  ["device/groupAssignment", "groupAt(task, party, drawnGroup(task, entropy))", "drawnGroup(task, entropy)", "singleDevice", "at the first party"],
  ["device/device", "fromHex(entry.sent) ?? this.#settle(task, entry, null)", "this.#settle(task, entry, null)", "singleDevice", "asked again answers once"],
  ["device/device", "fromHex(entry.sent) ?? this.#settle(task, entry, null)", "this.#settle(task, entry, null)", "singleDevice", "with a set answers once"],
  ["device/device", "await this.#ledger.settle(digest, batch);", "", "singleDevice", "no second draw"],
  ["device/device", "entry.domain !== domain", "false", "singleDevice", "a second list"],
  ["device/device", "await this.#ledger.settle(digest, batch);", "", "singleDevice", "later the same bytes"],
  ["device/device", "} catch {", "} catch (error) { throw error;", "singleDevice", "is not repeated"],
  ["device/device", "await this.#value()", "await (this.#value(), this.#value())", "singleDevice", "one reading of the value"],
  ["device/ledger", "isAbove(found, most)", "false", "singleDevice", "lifetime cap"],
  ["device/ledger", "normalised(attribute) === normalised(own)", "true", "singleDevice", "about something else"],
  ["device/ledger", "await this.counters.advance(++this.#counter)", "++this.#counter", "singleDevice", "an older ledger"],
  ["device/campaigns", "Number(uniformBelow(BigInt(weeks), entropy))", "0", "campaigns", "drawn uniformly"],
  ["device/campaigns", "if (drawn) return drawn;", "", "campaigns", "never drawn again"],
  ["device/campaigns", 'check(known, "question", `campaign', 'check(true, "question", `campaign', "campaigns", "change its terms"],
  ["device/campaigns", ") === common,", ") !== null,", "campaigns", "of another k"],
  ["device/campaigns", "deadlines.reports <= end", "true", "campaigns", "ends after its week"],
  ["device/campaigns", "whole(LEAST_WEEKS, MOST)", "whole(1, MOST)", "campaigns", "of one week"],
  ["device/device", "slot !== place.week", "false", "campaigns", "one week of a cycle, through olh"],
  ["device/ledger", "time > newest ? time : newest", "newest", "campaigns", "clock that is set back"],
  ["device/ledger", "time > begin", "true", "campaigns", "share the caps"],
  ["device/ledger", ", ...this.slots]", "]", "campaigns", "share the caps"],
  ["device/ledger", "!paid || answered", "!paid", "campaigns", "a second task of the own week"],
  ["device/ledger", "version === VERSION && entries", "entries", "vectors", "ledgers.json"],
  ["device/trustedTask", 'check(now >= opens', 'check(true || now >= opens', "singleDevice", "a task over is refused"],
  ["device/trustedTask", "task.parties.includes(party)", "true", "singleDevice", "of other parties"],
  ["device/privateValue", "(1n << BigInt(nameBits)) - 1n", "0n", "vectors", "names.json"],
  ["device/privateValue", "chunkKey(name, level - 2", "chunkKey(name, level - 1", "vectors", "names.json"],
  ["wire/itemLists", "!== digest", '=== ""', "singleDevice", "a catalogue is fetched"],
  ["encoding/normalisation", '? capital : capital.toLowerCase()', '? capital : letter.toLowerCase()', "vectors", "names.json"],
  ["encoding/deviceItems", "text === null ? null : code", "code", "vectors", "codes.json"],
  ["encoding/deviceItems", "return codec(each);", "if (each.length > 200) throw new RangeError(); return codec(each);", "vectors", "codes.json"],
  ["services/singleDevice", "if (await notes.read(refusedNote) !== null) return;", "", "campaigns", "once, and nothing but its code"],
  ["services/singleDevice", "entry === void 0 && task.oneShot", "false", "singleDevice", "before anything is spent on it"],
  ["services/singleDevice", "if (kept !== null) return readTicket(kept);", "", "singleDevice", "a ticket is fetched once"],
  ["adapters/systemEntropy", "pool.fill(0, taken, taken += count)", "taken + count", "singleDevice", "none twice"],
  ["adapters/nodeState", "await file.sync();", "", "nodeState", "was flushed before"],
  ["adapters/nodeState", "await flushFolder(folder);\n        await Promise.all", "await Promise.all", "nodeState", "was flushed before"],
  ["adapters/nodeState", "FILE_MODE = 384", "FILE_MODE = 420", "nodeState", "for their owner alone"],
];

const PACKAGE = new URL("../..", import.meta.url).pathname;

async function survives([file, from, to, suite, killer]: Mutant): Promise<boolean> {
  const copy = mkdtempSync(join(PACKAGE, "node_modules", "..", "build-mutant-"));
  try {
    cpSync(join(PACKAGE, "build"), copy, { recursive: true });
    const path = join(copy, "src", `${file}.js`);
    const source = readFileSync(path, "utf8");
    assert.ok(source.includes(from), `${file} has no ${from}`);
    writeFileSync(path, source.replace(from, to));
    const command = ["--no-warnings", "--test-reporter=tap", "--test-name-pattern", killer, join(copy, "tests", `${suite}.test.js`)];
    const environment = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const told = await promisify(execFile)(process.execPath, command, { cwd: PACKAGE, env: environment }).then(
      ({ stdout }) => stdout, (failed: { stdout: string }) => failed.stdout,
    );
    assert.match(told, /^# (pass|fail) [1-9]/m, `no test is called ${killer}`);
    return /^# fail 0$/m.test(told);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

for (const mutant of MUTANTS) {
  const [file, from, , suite, killer] = mutant;
  test(`${file}: without "${from.slice(0, 40)}" the test "${killer}" of ${suite} fails`, async () => assert.ok(!(await survives(mutant))));
}
