/** The one thing that never leaves a device. */

import { TreetopError } from "../errors.js";
import { keyOf } from "../oracles/protocol.js";
import { chunkKey } from "../oracles/walsh.js";
import type { DeviceTask } from "../wire/task.js";

/** A code, or null for an item without one; it shows, compares and stores as nothing. */
export class PrivateValue {
  readonly #code: bigint | null;

  constructor(code: bigint | null, bits: number) {
    this.#code = code !== null && code >= 0n && code >> BigInt(bits) === 0n ? code : null;
  }

  /** Return the first bits, or null without a code; called after all randomness is drawn. */
  prefix(bits: number, length: number): bigint | null {
    return this.#code === null ? null : this.#code >> BigInt(bits - length);
  }

  /**
   * Return what the device hashes at a level, where there is no list; called after all randomness is drawn. Where names
   * are reported, this is the name, or the key of a chunk behind it; whoever has no code reports one name at every level.
   */
  key({ reports, bits, lengths }: DeviceTask, level: number): bigint {
    if (reports !== "names") return keyOf(this.prefix(bits, lengths[level]!));
    const nameBits = lengths[1]!;
    const name = this.prefix(bits, nameBits);
    if (name === null) return (1n << BigInt(nameBits)) - 1n;
    return level === 1 ? name : chunkKey(name, level - 2, Number(this.prefix(bits, lengths[level]!)! & 255n), nameBits);
  }

  toString(): string {
    return "PrivateValue(redacted)";
  }

  toJSON(): never {
    throw new TreetopError("promise", "a private value stays on its device");
  }
}
