/** The lint rules of the device path see what they should, as the Python test of syntax trees does. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ESLint } from "eslint";

const eslint = new ESLint({ cwd: new URL("../..", import.meta.url).pathname });

async function faults(code: string, filePath: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath });
  return result!.messages.map((message) => message.message);
}

const MUTANTS = [
  "export const x = 0.5;", "export const x = 1e-3;", "export const x = .5;", "export const x = 1 / 2;", "export let x = 4; x /= 2;",
  "export const f = (y: number): number => y % 3;", "export let x = 4; x %= 3;", "export const x = 2 ** 3;", "export const x = Math.random();",
  "export const x = Math.exp(1);", "export const x = crypto.getRandomValues(new Uint8Array(8));", "export const x = crypto.randomUUID();",
  "export const x = globalThis.crypto;", "export const x = Date.now();", "export const x = performance.now();", "export const x = parseFloat('1');",
  "export const x = Number.parseFloat('1');", "export const x = fetch('https://x');", "export const x = localStorage.length;", "console.log(1);",
  "import { readFileSync } from 'node:fs'; export const x = readFileSync;", "import x from 'somewhere'; export default x;",
  "import { systemEntropy } from '../adapters/systemEntropy.js'; export const x = systemEntropy;",
  "import { partyClient } from '../services/partyClient.js'; export const x = partyClient;", "debugger;", "export const x = eval('1');",
  "export const x = new Function('return 1');", "export const x = 1 == 2;", "export const x = process.env;", "setTimeout(() => 0, 1);",
];

for (const mutant of MUTANTS) {
  test(`the device path has no ${mutant}`, async () => {
    for (const folder of ["device", "oracles", "wire", "encoding"]) {
      assert.notDeepEqual(await faults(mutant, `src/${folder}/mutant.ts`), [], folder);
    }
  });
}

test("what the device path is made of passes", async () => {
  const honest = "export const f = (x: bigint, y: number): bigint => (x << 64n) + BigInt(y & 255) + 0x9e3779b97f4a7c15n + BigInt(0xe5);\n";
  assert.deepEqual(await faults(honest, "src/oracles/honest.ts"), []);
});

test("no part of the package draws otherwise, or makes markup of texts", async () => {
  for (const mutant of ["export const x = Math.random();", "document.body.innerHTML = 'x';", "export const x = eval('1');"]) {
    assert.notDeepEqual(await faults(mutant, "src/services/mutant.ts"), [], mutant);
  }
});
