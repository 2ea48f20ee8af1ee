/** Every vector that a device is held to, as named checks that run in Node and in a browser alike. */

import { blake2b } from "../../src/encoding/blake2b.js";
import { readBudget } from "../../src/budget.js";
import { fromHex, hex, sha256, utf8 } from "../../src/bytes.js";
import { normalised } from "../../src/device/attributes.js";
import { readCampaign, type Campaign } from "../../src/device/campaigns.js";
import { Device } from "../../src/device/device.js";
import { assignedGroup, drawnGroup } from "../../src/device/groupAssignment.js";
import { Ledger } from "../../src/device/ledger.js";
import { checkQuestion } from "../../src/device/listChecks.js";
import { deviceCode } from "../../src/encoding/deviceItems.js";
import { deviceSet } from "../../src/encoding/deviceSets.js";
import { codecNamed, listedItems } from "../../src/encoding/itemCodecs.js";
import { TreetopError } from "../../src/errors.js";
import { PrivateValue } from "../../src/device/privateValue.js";
import { readItemList } from "../../src/wire/itemLists.js";
import { bytesNumber } from "../../src/integers.js";
import { keepThreshold } from "../../src/oracles/krr.js";
import { bucketCount, bucketOf } from "../../src/oracles/olh.js";
import { flipThreshold } from "../../src/oracles/oue.js";
import { oracleFor, taskOracles } from "../../src/oracles/registry.js";
import { setFace } from "../../src/oracles/setReports.js";
import { splitmix64 } from "../../src/oracles/seededHash.js";
import { chunkKey, outcomeCount, outcomeOf, walshKeepThreshold } from "../../src/oracles/walsh.js";
import { parsedRational, rational, rationalText } from "../../src/rational.js";
import { pinnedKeys } from "../../src/adapters/ed25519.js";
import type { Group, Role } from "../../src/wire/groups.js";
import { decodedBatch } from "../../src/wire/readBatches.js";
import { encodedBatch } from "../../src/wire/reportBatches.js";
import { checkedContent, checkedTask } from "../../src/wire/signedDocuments.js";
import { listDigest, readBeacon, readList, type Question } from "../../src/wire/lists.js";
import { listTerms, readTask, TASK, type DeviceTask } from "../../src/wire/task.js";
import { encodedRefusal, encodedUpload, readTicket } from "../../src/wire/uploads.js";
import { memoryState, scripted } from "./memoryDevice.js";

/** Reads a file of tests/vectors. */
export type ReadVectors = (name: string) => Promise<any>;
export type Check = readonly [name: string, run: (read: ReadVectors) => Promise<void>];

function equal(found: unknown, wanted: unknown, about: unknown): void {
  const [one, two] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== two) throw new Error(`${JSON.stringify(about)}: expected ${two}, found ${one}`);
}

/** Fail unless something is refused by an error of ours: any other exception is a fault. */
async function refused(run: () => unknown, about: unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof TreetopError) return;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(about)}`);
}

/** Return the code or else the kind of a refusal; any other exception is a fault. */
async function verdict(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof TreetopError)) throw error;
    return error.code ?? error.kind;
  }
  return "accepted";
}

/** Return a text with a change: where it begins and ends, counted in characters, and the text between. */
function applied(text: string, edit: string): string {
  const [, start, end, between] = /^(\d+) (\d+) (.*)$/s.exec(edit)!;
  return text.slice(0, Number(start)) + between + text.slice(Number(end));
}

function numbers(texts: readonly string[]): bigint[] {
  return texts.map(BigInt);
}

/** What an owner allows who has said nothing. */
const OWNERS_CAPS = {
  perTask: rational(4n), lifetime: rational(8n), window: rational(4n), windowSeconds: 84 * 86_400, attribute: undefined, leastSlots: 5,
};

function campaign(text: string): Promise<Campaign> {
  return readCampaign(utf8(text), { readTask, rule: TASK, normalised });
}

function questionOf(vector: any, task: string): Question {
  const { group, length, prefixes, pruned } = vector;
  return { task, group, length, prefixes: numbers(prefixes), pruned: numbers(pruned) };
}

/** Take an upload apart, as a party does. */
function decodedUpload(data: Uint8Array): [Uint8Array, Uint8Array][] {
  const fail = (): never => { throw new TreetopError("peer", "upload"); };
  if (data[0] !== 1) fail();
  const entries: [Uint8Array, Uint8Array][] = [];
  for (let start = 1; start < data.length; ) {
    if (start + 28 > data.length) fail();
    const end = start + 28 + Number(bytesNumber(data.slice(start + 24, start + 28)));
    if (end > data.length) fail();
    entries.push([data.slice(start, start + 24), data.slice(start + 28, end)]);
    start = end;
  }
  return entries.length > 0 ? entries : fail();
}

const task = (text: string): Promise<DeviceTask> => readTask(utf8(text));
const bytes = (text: string): Uint8Array => fromHex(text)!;

export const CHECKS: readonly Check[] = [
  ["thresholds.json", async (read) => {
    for (const vector of await read("thresholds.json")) {
      const { odds } = readBudget(vector.epsilon);
      for (const [slots, keep] of Object.entries(vector.keep)) equal(`${keepThreshold(odds, Number(slots))}`, keep, [vector.epsilon, slots]);
      equal(`${flipThreshold(odds)}`, vector.flip, vector.epsilon);
      equal([bucketCount(odds), outcomeCount(odds)], [vector.buckets, vector.outcomes], vector.epsilon);
      equal(`${walshKeepThreshold(odds, vector.outcomes)}`, vector.walsh_keep, vector.epsilon);
    }
  }],
  ["choices.json", async (read) => {
    for (const { epsilon, krr_up_to } of await read("choices.json")) {
      const names = [krr_up_to, krr_up_to + 1].map((slots) => oracleFor("listed", readBudget(epsilon).odds, slots).name);
      equal(names, ["krr", "oue"], epsilon);
    }
  }],
  ["draws.json", async (read) => {
    for (const vector of await read("draws.json")) {
      const [oracle] = taskOracles(vector.oracle);
      const { odds } = readBudget(vector.epsilon);
      const entropy = scripted(bytes(vector.randomness));
      const face = oracle.device(odds, oracle.listed ? vector.slots : oracle.slotsFor(odds));
      const report = face.draw(entropy);
      equal(entropy.taken(), vector.bytes_taken, vector);
      equal([face.slots, hex(report(BigInt(vector.value)))], [vector.slots, vector.body], vector);
      equal(bytes(vector.body).length, face.width, vector);
    }
  }],
  ["olh_hash.json", async (read) => {
    for (const { seed, key, buckets, bucket } of await read("olh_hash.json")) {
      equal(Number(bucketOf(BigInt(seed), BigInt(key), buckets)), bucket, { seed, key, buckets });
    }
  }],
  ["walsh_hash.json", async (read) => {
    for (const { seed, outcomes, words, outcome } of await read("walsh_hash.json")) {
      equal(words.map((_: string, place: number) => `${splitmix64(BigInt(seed), BigInt(place + 1))}`), words, seed);
      for (const [key, wanted] of Object.entries(outcome)) equal(Number(outcomeOf(BigInt(seed), BigInt(key), outcomes)), wanted, { seed, key });
    }
  }],
  ["chunk_keys.json", async (read) => {
    for (const { bits, name, chunk, value, key } of await read("chunk_keys.json")) {
      equal(Number(chunkKey(BigInt(name), chunk, value, bits)), key, { bits, name, chunk, value });
    }
  }],
  ["set_reports.json", async (read) => {
    const { thresholds, reports } = await read("set_reports.json");
    for (const { oracle, epsilon, items, buckets, own } of thresholds) {
      const face = setFace(oracle, readBudget(epsilon).odds, { items_per_user: items, reading: "holders" });
      equal([face.slots, face.taskThresholds.own], [buckets, own], { oracle, epsilon, items });
    }
    for (const vector of reports) {
      const entropy = scripted(bytes(vector.randomness));
      const draw = setFace(vector.oracle, readBudget(vector.epsilon).odds, { items_per_user: vector.items, reading: "holders" }).draw(entropy);
      const held = Object.entries(vector.held as Record<string, string>).map(([item, key]) => [utf8(item), () => BigInt(key)] as const);
      equal(entropy.taken(), vector.bytes_taken, vector);
      const chosen = (await draw.chosen(held)).map(([entry]) => new TextDecoder().decode(entry));
      equal([chosen, hex(await draw(held))], [vector.chosen, vector.body], vector);
    }
  }],
  ["set_tasks.json", async (read) => {
    const { good, bad, batches } = await read("set_tasks.json");
    for (const { canonical, digest } of good) equal((await task(canonical)).digest, digest, canonical);
    for (const text of bad) await refused(() => task(text), text);
    for (const text of batches.good) {
      const { envelope, bodies } = decodedBatch(bytes(text));
      equal(hex(encodedBatch(envelope, ...bodies)), text, text);
    }
    for (const text of batches.bad) await refused(() => decodedBatch(bytes(text)), text);
  }],
  ["device_sets.json", async (read) => {
    const { good } = await read("set_tasks.json");
    const tasks = new Map(await Promise.all(good.map(async ({ canonical, digest }: any) => [digest, await task(canonical)]))) as Map<string, DeviceTask>;
    for (const vector of await read("device_sets.json")) {
      const asked = tasks.get(vector.task)!;
      const { name, hash_key, normalise = "" } = asked.encoding;
      const nameBits = asked.reports === "names" ? asked.lengths[1]! : asked.bits;
      const codec = await codecNamed(name, nameBits, hash_key, (asked.bits - nameBits) >> 3);
      const own = deviceSet(codec, vector.items, normalise.split(","), asked.sets!);
      const codes = own.map(([, code]) => code()?.toString(16) ?? null);
      equal([own.map(([entry]) => hex(entry)), codes], [vector.entries, vector.codes], vector.items);
      const state = memoryState();
      const caps = { perTask: parsedRational("4"), lifetime: parsedRational("8"), window: parsedRational("8"), windowSeconds: 1, attribute: undefined, leastSlots: 5 };
      const entropy = scripted(bytes(vector.randomness));
      const device = new Device(() => Promise.resolve(own), entropy, await Ledger.open(state.ledger, state.counter, caps, () => 0));
      equal([hex(await device.answerOnce(asked)), entropy.taken()], [vector.batch, vector.bytes_taken], vector.items);
    }
  }],
  ["codes.json", async (read) => {
    const [{ items }, ...codecs] = await read("codes.json");
    for (const { encoding, bits, hash_key, codes } of codecs) {
      const codec = await codecNamed(encoding, bits, hash_key);
      items.forEach((item: string, place: number) => {
        const about = { encoding, bits, item: item.slice(0, 40) };
        const found = [deviceCode(codec, item), deviceCode(codec, utf8(item))].map((code) => (code === null ? null : `${code}`));
        equal(found, [codes[place], codes[place]], about);
      });
      for (const unreadable of ["\ud800", bytes("ff"), bytes("c3"), 7, null, undefined, {}]) equal(deviceCode(codec, unreadable), null, encoding);
    }
  }],
  ["item_lists.json", async (read) => {
    const { good, bad } = await read("item_lists.json");
    for (const { document, digest, items } of good) equal(await readItemList(bytes(document), digest), items, digest);
    for (const { document, digest } of bad) equal(await readItemList(bytes(document), digest), null, document);
  }],
  ["names.json", async (read) => {
    const { good } = await read("tasks.json");
    const { good: [listed] } = await read("item_lists.json");
    const tasks = new Map(await Promise.all(good.map(async ({ canonical, digest }: any) => [digest, await task(canonical)]))) as Map<string, DeviceTask>;
    for (const { task: digest, item, code, keys } of await read("names.json")) {
      const asked = tasks.get(digest)!;
      const { name, hash_key, normalise = "" } = asked.encoding;
      const nameBits = asked.lengths[1]!;
      const codec = name === "catalogue" ? listedItems(listed.items, nameBits) : await codecNamed(name, nameBits, hash_key, (asked.bits - nameBits) >> 3);
      const found = deviceCode(codec, item, normalise.split(","));
      equal(found === null ? null : found.toString(16), code, { digest, item: item.slice(0, 40) });
      equal(keys.map((_: string, place: number) => `${new PrivateValue(found, asked.bits).key(asked, place + 1)}`), keys, { digest, item: item.slice(0, 40) });
    }
  }],
  ["attributes.json", async (read) => {
    const names: { name: string; same: number }[] = await read("attributes.json");
    for (const one of names) {
      for (const two of names) equal(normalised(one.name) === normalised(two.name), one.same === two.same, [one, two]);
    }
  }],
  ["tasks.json", async (read) => {
    const { good, bad } = await read("tasks.json");
    for (const { canonical, digest } of good) equal((await task(canonical)).digest, digest, canonical);
    for (const text of bad) await refused(() => task(text), text);
  }],
  ["groups.json", async (read) => {
    const { good: [first] } = await read("tasks.json");
    const asked = await task(first.canonical);
    for (const vector of await read("groups.json")) {
      equal(drawnGroup(asked, scripted(bytes(vector.randomness))), vector.drawn, vector);
      const enrolment = { identifier: bytes(vector.identifier), beacon: bytes(vector.beacon), party: "" };
      equal(await assignedGroup(asked, enrolment), vector.assigned, vector);
    }
  }],
  ["domains.json", async (read) => {
    const { good: [first] } = await read("tasks.json");
    for (const { level, role, length, prefixes, digest } of await read("domains.json")) {
      const question: Question = { task: first.digest, group: [level, role as Role], length, prefixes: numbers(prefixes), pruned: [] };
      equal(await listDigest(question), digest, { level, role });
    }
  }],
  ["questions.json", async (read) => {
    for (const vector of await read("questions.json")) {
      const asked = await task(vector.task);
      const published = { length: vector.published_length, prefixes: numbers(vector.published) };
      const run = (): void => checkQuestion(asked, vector.own as Group, questionOf(vector, vector.of_task), published, vector.least_slots);
      if (vector.answered) run();
      else await refused(run, vector);
    }
  }],
  ["batches.json", async (read) => {
    const { good, bad } = await read("batches.json");
    for (const text of good) {
      const { envelope, bodies } = decodedBatch(bytes(text));
      equal(hex(encodedBatch(envelope, ...bodies)), text, text);
    }
    for (const text of bad) await refused(() => decodedBatch(bytes(text)), text);
  }],
  ["signed_documents.json", async (read) => {
    const { public_key, good, bad } = await read("signed_documents.json");
    const verifies = pinnedKeys([`02${"00".repeat(31)}`, public_key]);
    const trusted = await checkedTask(utf8(good[0].document), verifies);
    const oracles = new Set<string>();
    for (const { kind, document } of good.slice(1)) {
      const content = await checkedContent(kind, utf8(document), verifies);
      if (kind === "beacon") equal(readBeacon(content).task, trusted.digest, kind);
      else equal(readList(content, listTerms(trusted)).question.task, trusted.digest, kind);
      oracles.add(JSON.parse(new TextDecoder().decode(content)).oracle);
    }
    equal([...oracles], [null, "krr", "oue"], "oracles");
    for (const { kind, document } of bad) await refused(() => checkedContent(kind, utf8(document), verifies), document);
  }],
  ["documents.json", async (read) => {
    const { task: inRounds, bases, mutants, weeks } = await read("documents.json");
    const terms = listTerms(await task(inRounds));
    const readers: Record<string, (data: Uint8Array) => unknown> = {
      task: readTask, campaign: (data) => readCampaign(data, { readTask, rule: TASK, normalised }), beacon: readBeacon,
      list: (data) => readList(data, terms), signed: (data) => checkedContent("beacon", data, () => Promise.resolve(true)),
    };
    for (const [code, edits] of Object.entries(mutants as Record<string, string[]>)) {
      for (const each of edits) {
        const [, number, edit] = /^(\d+) (.*)$/s.exec(each)!;
        const { kind, text } = bases[Number(number)];
        equal(await verdict(() => readers[kind]!(utf8(applied(text, edit!)))), code, each);
      }
    }
    for (const { task: asked, campaign: whole, cases } of weeks) {
      for (const [taskEdit, campaignEdit, code, cost] of cases) {
        const state = memoryState();
        const ledger = await Ledger.open(state.ledger, state.counter, OWNERS_CAPS, () => 0);
        const script = new Uint8Array(64).map((_, place) => 1 + 167 * place + 13 * place * place);
        const device = new Device(() => Promise.reject(new Error("the item was read")), scripted(script), ledger);
        const found = await verdict(async () => {
          const of = await task(applied(asked, taskEdit));
          await device.checkAllowed(of, await campaign(applied(whole, campaignEdit)));
        });
        equal([found, rationalText(ledger.spent)], [code, cost], [taskEdit, campaignEdit]);
      }
    }
  }],
  ["uploads.json", async (read) => {
    const { tickets, good, bad } = await read("uploads.json");
    for (const ticket of tickets) equal(hex(readTicket(ticket)), ticket, ticket);
    for (const text of good) {
      const entries = decodedUpload(bytes(text));
      const uploads = entries.map(([ticket, batch]) => hex(encodedUpload(ticket, batch)));
      equal(uploads.map((upload, place) => (place === 0 ? upload : upload.slice(2))).join(""), text, text);
    }
    for (const text of bad) await refused(() => decodedUpload(bytes(text)), text);
    for (const text of ["", "00", `${tickets[0]}00`, "zz".repeat(24), null]) await refused(() => readTicket(text), text);
  }],
  ["answers.json", async (read) => {
    for (const vector of await read("answers.json")) {
      const state = memoryState();
      const caps = { perTask: parsedRational("5/2"), lifetime: parsedRational("7"), window: parsedRational("7"), windowSeconds: 1, attribute: undefined, leastSlots: 5 };
      const entropy = scripted(bytes(vector.randomness));
      const asked = await task(vector.task);
      const codec = await codecNamed(asked.encoding.name, asked.bits, asked.encoding.hash_key);
      const device = new Device(() => Promise.resolve(deviceCode(codec, vector.item)), entropy, await Ledger.open(state.ledger, state.counter, caps, () => 0));
      const report = "own" in vector
        ? await device.answer(
            asked, { identifier: utf8("somebody"), beacon: utf8("beacon"), party: "" }, questionOf(vector, vector.of_task),
            { length: vector.published_length, prefixes: numbers(vector.published) },
          )
        : await device.answerOnce(asked);
      equal([hex(report), entropy.taken(), asked.digest], [vector.report, vector.bytes_taken, vector.digest], vector.task);
      equal([new TextDecoder().decode((await state.ledger.load())!), await state.counter.read()], [vector.ledger, vector.counter], vector.task);
      await Ledger.open(state.ledger, state.counter, caps, () => 0);
    }
  }],
  ["campaigns.json", async (read) => {
    const { signing_key, good, bad, weeks, places } = await read("campaigns.json");
    const verifies = pinnedKeys([signing_key]);
    for (const each of good) {
      const found = await campaign(each.canonical);
      const [last, end] = [found.opens(each.cycles - 1, each.weeks - 1), found.opens(each.cycles, 0)];
      equal([found.digest, found.name, found.weeks, found.cycles], [each.digest, each.name, each.weeks, each.cycles], each.canonical);
      equal([found.opens(0, 0), end, end - last], [each.starts, each.over, each.every], each.canonical);
      equal(new TextDecoder().decode(await checkedContent("campaign", utf8(each.signed), verifies)), each.canonical, each.signed);
    }
    for (const text of bad) await refused(() => campaign(text), text);
    const asked = await campaign(weeks.campaign);
    for (const text of weeks.good) asked.checkTask(await task(text));
    for (const text of weeks.bad) await refused(async () => asked.checkTask(await task(text)), text);
    for (const { time, place } of places) {
      const all = Array.from({ length: asked.weeks }, (_, week) => [0, week] as const);
      equal(all.find(([cycle, week]) => time >= asked.opens(cycle, week) && time < asked.opens(cycle, week + 1)) ?? null, place, time);
    }
  }],
  ["cycles.json", async (read) => {
    for (const vector of await read("cycles.json")) {
      const [asked, state, entropy] = [await campaign(vector.campaign), memoryState(), scripted(bytes(vector.randomness))];
      for (const step of vector.steps) {
        const of = await task(step.task);
        const codec = await codecNamed(of.encoding.name, of.bits, of.encoding.hash_key);
        const ledger = await Ledger.open(state.ledger, state.counter, OWNERS_CAPS, () => step.time);
        const device = new Device(() => Promise.resolve(deviceCode(codec, vector.item)), entropy, ledger);
        const seen = await device.answerOnce(of, asked).then(hex, (error: TreetopError) => error.code);
        equal([seen, entropy.taken()], [step.seen, step.taken], step.task);
      }
      equal([new TextDecoder().decode((await state.ledger.load())!), await state.counter.read()], [vector.ledger, vector.counter], vector.campaign);
    }
  }],
  ["ledgers.json", async (read) => {
    const { good, bad } = await read("ledgers.json");
    for (const { ledger, first_read, counter, kept, attribute, moments } of good) {
      const state = memoryState(utf8(ledger));
      const first = await Ledger.open(state.ledger, state.counter, OWNERS_CAPS, () => first_read);
      equal([new TextDecoder().decode((await state.ledger.load())!), await state.counter.read()], [kept, counter], ledger);
      first.checkAllowed(attribute, rational(0n));
      await refused(() => Promise.resolve(first.checkAllowed("something else", rational(0n))), attribute);
      for (const { time, now, spent, in_window, refused: codes } of moments) {
        const found = await Ledger.open(state.ledger, state.counter, OWNERS_CAPS, () => time);
        equal([found.now, rationalText(found.spent), rationalText(found.window.spent)], [now, spent, in_window], { ledger, time });
        for (const [epsilon, code] of Object.entries(codes)) {
          let told: string | null = null;
          try {
            found.checkAllowed(attribute, parsedRational(epsilon));
          } catch (error) {
            told = (error as TreetopError).code!;
          }
          equal(told, code, { ledger, time, epsilon });
        }
      }
    }
    for (const ledger of bad) {
      const state = memoryState(utf8(ledger));
      await refused(() => Ledger.open(state.ledger, state.counter, OWNERS_CAPS, () => 0), ledger);
    }
  }],
  ["refusals.json", async (read) => {
    const { good } = await read("refusals.json"); // a device writes one; its party alone reads them
    for (const { tickets, codes, bytes: told } of good) {
      equal(tickets.map((ticket: string, place: number) => hex(encodedRefusal(bytes(ticket), codes[place])).slice(2)).join(""), told.slice(2), told);
    }
  }],
  ["BLAKE2b of RFC 7693", async () => {
    equal(hex(blake2b(utf8("abc"), new Uint8Array(), 64)).slice(0, 32), "ba80a53f981c4d0d6a2797b69f12f6e9", "abc");
    equal(hex(await sha256(utf8("abc"))).slice(0, 16), "ba7816bf8f01cfea", "abc");
  }],
];
/** What holds no vector for this device: files of reports, messages between parties and servers, devices with sets. */
export const NOT_FOR_DEVICES = ["report_files.json", "panorama_messages.json"];
