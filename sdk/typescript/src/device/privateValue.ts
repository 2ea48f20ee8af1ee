/** The one thing that never leaves a device. */

import { TreetopError } from "../errors.js";

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

  toString(): string {
    return "PrivateValue(redacted)";
  }

  toJSON(): never {
    throw new TreetopError("promise", "a private value cannot be serialised or copied");
  }
}
