/** All vectors of tests/vectors, in Node. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { CHECKS, NOT_FOR_DEVICES } from "./support/vectors.js";

const FOLDER = new URL("../../../../tests/vectors/", import.meta.url);
const read = (name: string): Promise<unknown> => Promise.resolve(JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")));

for (const [name, run] of CHECKS) test(name, () => run(read));

test("every file of vectors is read", () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json") && !NOT_FOR_DEVICES.includes(name));
  const read_by = new Set(CHECKS.map(([name]) => name));
  assert.deepEqual(files.filter((name) => !read_by.has(name)), []);
});
