/** What a device keeps between two runs, in whatever place its platform has. */

import type { CounterStore, LedgerStore } from "../device/ledger.js";

/** Small texts beside the ledger: the device's ticket, and that it has enrolled. */
export interface Notes {
  read(name: string): Promise<string | null>;
  /** Once this returns the text outlasts a crash. */
  write(name: string, text: string): Promise<void>;
}

export interface DeviceState {
  readonly ledger: LedgerStore;
  readonly counter: CounterStore;
  readonly notes: Notes;
}

/** Let one caller at a time use the state of a device; others wait, or are refused with an error of kind `ledger`. */
export type WithState = <Result>(use: (state: DeviceState) => Promise<Result>) => Promise<Result>;
