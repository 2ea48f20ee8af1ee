/** A device in a tab that is killed at a chosen step: every step outside the device asks the site whether it is the last. */

import { browserState } from "../../src/adapters/browserState.js";
import { pinnedKeys } from "../../src/adapters/ed25519.js";
import { systemEntropy } from "../../src/adapters/systemEntropy.js";
import type { DeviceState, WithState } from "../../src/services/deviceState.js";
import { openSingleDevice, type DeviceOptions } from "../../src/services/singleDevice.js";

/** Everything that a device does outside itself, with a step before and after. */
export function stepping(withState: WithState, step: () => void): WithState {
  const around = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => async (...args: Args): Promise<Result> => {
    step();
    const result = await call(...args);
    step();
    return result;
  };
  return (use) =>
    withState(({ ledger, counter, notes }: DeviceState) =>
      use({
        ledger: { load: around(() => ledger.load()), replace: around((bytes, number) => ledger.replace(bytes, number)) },
        counter: { read: around(() => counter.read()), advance: around((number) => counter.advance(number)) },
        notes: { read: around((name) => notes.read(name)), write: around((name, text) => notes.write(name, text)) },
      }));
}

/** Answer a task; before step number `fatal` the site is told, synchronously, and never answers: it kills the tab. */
export async function run(options: DeviceOptions, fatal: number): Promise<[verdict: string, steps: number]> {
  let steps = 0;
  const step = (): void => {
    if (steps++ !== fatal) return;
    const last = new XMLHttpRequest();
    last.open("POST", "/kill", false);
    last.send();
  };
  const honest = globalThis.fetch;
  globalThis.fetch = async (...asked) => {
    step();
    const answer = await honest(...asked);
    step();
    return answer;
  };
  const read = systemEntropy();
  const device = await openSingleDevice(options, {
    withState: stepping(browserState("treetop"), step), entropy: (count) => (step(), read(count)),
    verifies: pinnedKeys(options.serverKeys), now: () => Math.floor(Date.now() / 1000),
  });
  return [await device.answer(() => (step(), "7")), steps];
}
