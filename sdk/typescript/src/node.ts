/** `@treetop/device` in Node. */

import { pinnedKeys } from "./adapters/ed25519.js";
import { nodeState } from "./adapters/nodeState.js";
import { systemEntropy } from "./adapters/systemEntropy.js";
import { openSingleDevice, type DeviceOptions, type SingleDevice } from "./services/singleDevice.js";

export { TreetopError, type Kind } from "./errors.js";
export type { DeviceOptions, Item, OneOrMore, SingleDevice, Status } from "./services/singleDevice.js";
export type { Verdict } from "./wire/uploads.js";

export interface NodeOptions extends DeviceOptions {
  /** The folder of the device's ledger, counter and ticket: one for each thing that its owner may be asked about. */
  readonly state: string;
}

/** Fetch a task and believe it, or refuse it; the device that is returned answers it once. */
export function openDevice({ state, ...options }: NodeOptions): Promise<SingleDevice> {
  return openSingleDevice(options, {
    withState: nodeState(state), entropy: systemEntropy(), verifies: pinnedKeys(options.serverKeys),
    now: () => Math.floor(Date.now() / 1000),
  });
}
