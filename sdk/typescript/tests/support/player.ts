/** A device in front of a fake party; its state outlives it. */

import { pinnedKeys } from "../../src/adapters/ed25519.js";
import { systemEntropy } from "../../src/adapters/systemEntropy.js";
import type { Entropy } from "../../src/randomness.js";
import type { WithState } from "../../src/services/deviceState.js";
import { openSingleDevice, type DeviceOptions, type Item, type Platform } from "../../src/services/singleDevice.js";
import type { Verdict } from "../../src/wire/uploads.js";
import { TICKET, type FakeParty } from "./fakeParty.js";
import { memoryState } from "./memoryDevice.js";

export interface Played {
  readonly options?: Partial<DeviceOptions>;
  readonly platform?: Partial<Platform>;
}

export class Player {
  readonly told: string[] = [];
  readonly read: string[] = [];
  drawn = 0;

  constructor(readonly party: FakeParty, private readonly withState: WithState = ((state) => (use) => use(state))(memoryState())) {}

  async open({ options = {}, platform = {} }: Played = {}): ReturnType<typeof openSingleDevice> {
    globalThis.fetch = this.party.fetch as typeof fetch;
    const system = systemEntropy();
    const counting: Entropy = (count) => ((this.drawn += count), system(count));
    return openSingleDevice(
      {
        party: "https://party.example", partyName: "north", task: this.party.task.digest, serverKeys: [this.party.publicKey],
        ticket: TICKET, say: (text) => this.told.push(text), retryFor: 0, ...options,
      },
      { withState: this.withState, entropy: counting, verifies: pinnedKeys([this.party.publicKey]), now: () => 1_800_000_000, ...platform },
    );
  }

  async run(item: Item = () => (this.read.push("it"), "77"), played: Played = {}): Promise<Verdict> {
    return (await this.open(played)).answer(item);
  }
}
