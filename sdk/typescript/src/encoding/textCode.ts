/**
 * The public code of texts: an order-1 Huffman code with an end symbol, cut into chunks of 8 bits.
 *
 * Loaded only where a task asks for parts of texts: how often one byte follows another, counted once for everybody, is
 * more than the rest of the device.
 */

import PAIRS from "../../../../src/treetop/encoding/public_text_model.json" with { type: "json" };

/** The symbol after a text's last byte, and what stands before its first. */
const END = 256;
type Word = readonly [bits: bigint, length: bigint];

const symbolOf = (name: string): number => (name === "end" ? END : Number(name));
const counted = new Map(
  Object.entries(PAIRS).map(([before, counts]) => [
    symbolOf(before), new Map(Object.entries(counts).map(([after, count]) => [symbolOf(after), count])),
  ]),
);
/** How often each symbol occurs at all, one added to each so that any can be written. */
const alone = new Array<number>(END + 1).fill(1);
for (const counts of counted.values()) for (const [after, count] of counts) alone[after]! += count;
const everything = alone.reduce((sum, count) => sum + count);
const codes = new Map<number, readonly Word[]>();

/** Return the code of what follows a symbol: counted successors, blended with all symbols (Witten and Bell). */
function codeAfter(before: number): readonly Word[] {
  const counts = counted.get(before);
  const known = codes.get(counts ? before : -1);
  if (known !== undefined) return known;
  const made = huffmanCode(counts ? alone.map((count, after) => (counts.get(after) ?? 0) * everything + counts.size * count) : alone);
  codes.set(counts ? before : -1, made);
  return made;
}

/** Return the canonical code: shorter words first, then smaller symbols, counting upwards. */
function huffmanCode(weights: readonly number[]): readonly Word[] {
  const lengths = new Array<number>(weights.length).fill(0);
  // join the two lightest groups until one is left; of equal weights the one with the smaller symbol is lighter
  let groups = weights.map((weight, symbol) => ({ weight, symbols: [symbol] }));
  const lighter = (one: (typeof groups)[0], two: (typeof groups)[0]): number =>
    one.weight - two.weight || one.symbols[0]! - two.symbols[0]!;
  groups.sort(lighter);
  while (groups.length > 1) {
    const [first, second, ...rest] = groups as [(typeof groups)[0], (typeof groups)[0], ...typeof groups];
    const symbols = first.symbols[0]! < second.symbols[0]! ? [...first.symbols, ...second.symbols] : [...second.symbols, ...first.symbols];
    for (const symbol of symbols) lengths[symbol]!++;
    const joined = { weight: first.weight + second.weight, symbols };
    const place = rest.findIndex((group) => lighter(joined, group) < 0);
    rest.splice(place < 0 ? rest.length : place, 0, joined);
    groups = rest;
  }
  const words = new Array<Word>(weights.length);
  let [word, before] = [0n, 0n];
  const order = lengths.map((length, symbol) => [length, symbol] as const).sort(([a, x], [b, y]) => a - b || x - y);
  for (const [length, symbol] of order) {
    word <<= BigInt(length) - before;
    before = BigInt(length);
    words[symbol] = [word, before];
    word += 1n;
  }
  return words;
}

/** Return a text's code, repeated from its beginning until there are so many bytes, or cut there. */
export function chunksOf(text: Uint8Array, chunks: number): Uint8Array {
  let [code, length, before] = [0n, 0n, END];
  for (const symbol of [...text, END]) {
    const [word, bits] = codeAfter(before)[symbol]!;
    code = (code << bits) | word;
    length += bits;
    before = symbol;
  }
  const taken = Number((length + 7n) >> 3n);
  code <<= BigInt(8 * taken) - length;
  const bytes = Uint8Array.from({ length: taken }, (_, place) => Number((code >> BigInt(8 * (taken - 1 - place))) & 255n));
  const repeated = new Uint8Array(chunks);
  for (let start = 0; start < chunks; start += taken) repeated.set(bytes.subarray(0, chunks - start), start);
  return repeated;
}
