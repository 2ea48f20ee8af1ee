/** `@treetop/device` in a browser. */

import { browserState } from "./adapters/browserState.js";
import { pinnedKeys } from "./adapters/ed25519.js";
import { systemEntropy } from "./adapters/systemEntropy.js";
import { openSingleDevice, type DeviceOptions, type SingleDevice } from "./services/singleDevice.js";

export { TreetopError, type Kind } from "./errors.js";
export type { DeviceOptions, Item, OneOrMore, SingleDevice, Status } from "./services/singleDevice.js";
export type { Verdict } from "./wire/uploads.js";

export interface BrowserOptions extends DeviceOptions {
  /** Whose ledger: one name for each thing that a person may be asked about on this site. */
  readonly state?: string;
}

/** Fetch a task and believe it, or refuse it; the device that is returned answers it once. */
export function openDevice({ state = "treetop", ...options }: BrowserOptions): Promise<SingleDevice> {
  return openSingleDevice(options, {
    withState: browserState(state), entropy: systemEntropy(), verifies: pinnedKeys(options.serverKeys),
    now: () => Math.floor(Date.now() / 1000),
  });
}
