/** Many devices in one process, each with a new ledger, in front of a real party: `node fleet.js < job`, one JSON object. */

import { pinnedKeys } from "../../src/adapters/ed25519.js";
import { systemEntropy } from "../../src/adapters/systemEntropy.js";
import { openSingleDevice, type DeviceOptions } from "../../src/services/singleDevice.js";
import { memoryState } from "./memoryDevice.js";

interface Job extends DeviceOptions {
  readonly item: string;
  readonly tickets: readonly string[];
}

const AT_ONCE = 16;

const parts: Buffer[] = [];
for await (const part of process.stdin) parts.push(part as Buffer);
const { item, tickets, ...options } = JSON.parse(Buffer.concat(parts).toString("utf8")) as Job;
const entropy = systemEntropy();
const verdicts: Record<string, number> = {};
const waiting = [...tickets];

async function work(): Promise<void> {
  for (let ticket = waiting.pop(); ticket !== undefined; ticket = waiting.pop()) {
    const state = memoryState();
    const device = await openSingleDevice({ ...options, ticket }, {
      withState: (use) => use(state), entropy, verifies: pinnedKeys(options.serverKeys), now: () => Math.floor(Date.now() / 1000),
    });
    const verdict = await device.answer(item);
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
process.stdout.write(`${JSON.stringify(verdicts)}\n`);
