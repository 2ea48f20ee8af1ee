/** What a page has to load. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const BUDGETS = { "browser.js": 12_000, "node.js": 12_500, "survey.js": 17_500, "textCode.js": 6_000, "sets.js": 2_500, "itemLists.js": 1_500, "campaigns.js": 2_500, "rounds.js": 3_500 };

for (const [name, most] of Object.entries(BUDGETS)) {
  test(`${name} has ${most} bytes at most, compressed`, () => {
    const found = gzipSync(readFileSync(new URL(`../../dist/${name}`, import.meta.url)), { level: 9 }).length;
    assert.ok(found < most, `${found} bytes`);
  });
}

test("the package needs no other at run time, and its lock names no address", () => {
  const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  const described = JSON.parse(read("package.json")) as Record<string, unknown>;
  assert.equal(described["dependencies"], undefined);
  const lock = read("package-lock.json");
  assert.doesNotMatch(lock, /:\/\//);
  const { packages } = JSON.parse(lock) as { packages: Record<string, { integrity?: string }> };
  for (const [name, { integrity }] of Object.entries(packages)) if (name !== "") assert.match(integrity ?? "", /^sha512-/, name);
});
