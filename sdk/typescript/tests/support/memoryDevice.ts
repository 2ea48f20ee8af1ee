/** A device's state in memory, and randomness that a test has written. */

import type { Entropy } from "../../src/randomness.js";
import type { DeviceState } from "../../src/services/deviceState.js";
import { TreetopError } from "../../src/errors.js";

/** Return a new device's state, or one with a ledger in it. */
export function memoryState(written: Uint8Array | null = null): DeviceState {
  let [ledger, counter]: [Uint8Array | null, number] = [written, 0];
  let last = written === null ? 0 : Number(/"counter":(\d+)/.exec(new TextDecoder().decode(written))?.[1]);
  const notes = new Map<string, string>();
  return {
    ledger: {
      load: () => Promise.resolve(ledger),
      replace: (bytes, number) => {
        if (number !== last + 1) return Promise.reject(new TreetopError("ledger", "somebody else has written"));
        [ledger, last] = [bytes, number];
        return Promise.resolve();
      },
    },
    counter: {
      read: () => Promise.resolve(counter),
      advance: (number) => {
        counter = number;
        return Promise.resolve();
      },
    },
    notes: {
      read: (name) => Promise.resolve(notes.get(name) ?? null),
      write: (name, text) => {
        notes.set(name, text);
        return Promise.resolve();
      },
    },
  };
}

/** Hand out a script, and say how much of it was taken. */
export function scripted(script: Uint8Array): Entropy & { taken(): number } {
  let taken = 0;
  const read = (count: number): Uint8Array => {
    if (taken + count > script.length) throw new Error("the script is at its end");
    taken += count;
    return script.slice(taken - count, taken);
  };
  return Object.assign(read, { taken: () => taken });
}
