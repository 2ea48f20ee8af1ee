/**
 * Reports of many devices, each with a new ledger, for whoever counts them: `node reports.js < jobs`. A job is a line of
 * JSON; for each its reports follow, a line of hexadecimal digits each, and an empty line.
 */

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { systemEntropy } from "../../src/adapters/systemEntropy.js";
import { hex, utf8 } from "../../src/bytes.js";
import { Device } from "../../src/device/device.js";
import { Ledger } from "../../src/device/ledger.js";
import { rational } from "../../src/rational.js";
import { readTask } from "../../src/wire/task.js";
import type { Role } from "../../src/wire/groups.js";
import { memoryState } from "./memoryDevice.js";
import { fixed } from "./fixedEntropy.js";

interface Job {
  readonly task: string;
  /** Of its item; where the task is about sets, of its items. */
  readonly code: string | null | readonly (string | null)[];
  readonly count: number;
  /** Where a test must come out the same every time: what its randomness is made of; null is the operating system's. */
  readonly seed: string | null;
  /** Of a task in rounds: all prefixes of level 1. */
  readonly prefixes: readonly string[];
  readonly group: readonly [number, Role];
  readonly length: number;
}

/** The same SHA-256, but at once: a hundred thousand in another thread would take minutes. */
crypto.subtle.digest = (_, data) => {
  const { buffer, byteOffset, length } = createHash("sha256").update(new Uint8Array(data as Uint8Array<ArrayBuffer>)).digest();
  return Promise.resolve(buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer);
};

const CAPS = { perTask: rational(16n), lifetime: rational(16n), window: rational(16n), windowSeconds: 1, attribute: undefined, leastSlots: 3 };

for await (const line of createInterface({ input: process.stdin })) {
  const { task: text, code, count, seed, prefixes, group, length } = JSON.parse(line) as Job;
  const task = await readTask(utf8(text));
  const enrolment = { identifier: utf8("device 1"), beacon: utf8("beacon"), party: "" };
  const question = { task: task.digest, group, length, prefixes: prefixes.map(BigInt), pruned: [] };
  const entropy = seed === null ? systemEntropy() : fixed(seed);
  const known = (each: string | null): bigint | null => (each === null ? null : BigInt(each));
  const own = typeof code === "string" || code === null ? known(code) : code.map((each, place) => [utf8(`item ${place}`), () => known(each)] as const);
  const lines: string[] = [];
  for (let number = 0; number < count; number++) {
    const { ledger, counter } = memoryState();
    const device = new Device(() => Promise.resolve(own), entropy, await Ledger.open(ledger, counter, CAPS, () => 0));
    const report = task.oneShot ? await device.answerOnce(task) : await device.answer(task, enrolment, question, { length: 0, prefixes: [0n] });
    lines.push(hex(report));
  }
  process.stdout.write(`${lines.join("\n")}\n\n`);
}
