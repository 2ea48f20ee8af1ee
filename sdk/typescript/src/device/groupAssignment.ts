/** Which group a device answers in: settled before its value is read, by public weights alone. */

import { fromHex, joined, sha256 } from "../bytes.js";
import { numberBytes } from "../integers.js";
import { uniformBelow, type Entropy } from "../randomness.js";
import type { Group } from "../wire/groups.js";
import { groupAt, type DeviceTask } from "../wire/task.js";

/** Draw a group with the device's own randomness, so that nobody else chooses it (one-shot). */
export function drawnGroup({ groups }: DeviceTask, entropy: Entropy): Group {
  let ticket = uniformBelow(BigInt(groups.reduce((sum, [, , weight]) => sum + weight, 0)), entropy);
  const [level, role] = groups.find(([, , weight]) => (ticket -= BigInt(weight)) < 0n)!;
  return [level, role];
}

/** What settles a device's group in rounds: the beacon is published after enrolment has closed. */
export interface Enrolment {
  /** The ticket's serial number in 8 bytes. */
  readonly identifier: Uint8Array;
  readonly beacon: Uint8Array;
  readonly party: string;
}

const TOO_SHORT = new Error();

/**
 * Run by the device and by its party, who must agree: neither can choose the group. The stream that it is drawn from is
 * SHA-256 of a running number and a public text; it is made longer where the draw needs more.
 */
export async function assignedGroup(task: DeviceTask, { identifier, beacon, party }: Enrolment): Promise<Group> {
  const text = joined(fromHex(task.digest)!, await sha256(beacon), identifier);
  let stream = new Uint8Array();
  for (let number = 0; ; number++) {
    stream = joined(stream, await sha256(numberBytes(number, 8), text));
    let end = 0;
    const entropy = (count: number): Uint8Array => {
      if ((end += count) > stream.length) throw TOO_SHORT;
      return stream.subarray(end - count, end);
    };
    try {
      return groupAt(task, party, drawnGroup(task, entropy));
    } catch (error) {
      if (error !== TOO_SHORT) throw error;
    }
  }
}
