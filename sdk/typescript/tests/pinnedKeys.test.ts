/** Which public keys of a server a device pins. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { pinnedKeys } from "../src/adapters/ed25519.js";
import { TreetopError } from "../src/errors.js";

const OWN = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
const ORDER_8 = ["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];
const OTHERS = ["00" + "00".repeat(31), "01" + "00".repeat(31), ...["ec", "ed", "ee"].map((first) => first + "ff".repeat(30) + "7f")];

for (const key of [...ORDER_8, ...OTHERS]) {
  test(`a key that anybody signs for is refused: ${key.slice(0, 4)}…`, () => {
    const negative = key.slice(0, 62) + (parseInt(key.slice(62), 16) | 128).toString(16);
    for (const sign of [key, negative]) assert.throws(() => pinnedKeys([OWN, sign]), TreetopError);
  });
}

test("a key of full order is taken", () => {
  pinnedKeys([OWN]);
  pinnedKeys([`02${"00".repeat(31)}`]);
});
