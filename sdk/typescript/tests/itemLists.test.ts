/** Lists of items that would fill memory: a server can sign the digest of anything. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mock, test } from "node:test";
import { deflateSync } from "node:zlib";
import { readItemList } from "../src/wire/itemLists.js";

const MAX_ITEMS = 1 << 22;

function documentOf(json: string): [Uint8Array, string] {
  return [deflateSync(json), createHash("sha256").update(`treetop item list 1\0${json}`).digest("hex")];
}

function listed(entries: string): string {
  return `{"items":[${entries}],"ordered":true,"source":"x"}`;
}

for (const entry of ["[]", "{}", '"aa"', "12345"]) {
  test(`more than four million entries ${entry} are refused before anything is made of them`, async () => {
    const [document, digest] = documentOf(listed(`${`${entry},`.repeat(MAX_ITEMS)}${entry}`));
    const parse = mock.method(JSON, "parse");
    try {
      assert.equal(await readItemList(document, digest), null);
      assert.equal(parse.mock.callCount(), 0);
    } finally {
      parse.mock.restore();
    }
  });
}

test("whatever items hold, they are read back", async () => {
  const items = ['"', "\\", '\\"', "[", "{", ",", '],"ordered":true', "\n", "a"];
  assert.deepEqual(await readItemList(...documentOf(listed(items.map((item) => JSON.stringify(item)).join(",")))), items);
});
