/** Whole numbers of any size: bytes of them, bits of them, and the one place where they are divided. */

/** Return floor(a / b) of numbers that are not negative: a device divides integers, never floats. */
export function quotient(a: bigint, b: bigint): bigint {
  return a / b;
}

/** Return ceil(a / b) of numbers that are not negative. */
export function quotientAbove(a: bigint, b: bigint): bigint {
  return quotient(a + b - 1n, b);
}

export function bitLength(number: bigint): number {
  return number === 0n ? 0 : number.toString(2).length;
}

/** Return a big-endian number of so many bytes. */
export function numberBytes(number: bigint | number, width: number): Uint8Array {
  const bytes = new Uint8Array(width);
  let left = BigInt(number);
  for (let index = width - 1; index >= 0; index--) {
    bytes[index] = Number(left & 0xffn);
    left >>= 8n;
  }
  return bytes;
}

export function bytesNumber(bytes: Uint8Array): bigint {
  let number = 0n;
  for (const byte of bytes) number = (number << 8n) | BigInt(byte);
  return number;
}
