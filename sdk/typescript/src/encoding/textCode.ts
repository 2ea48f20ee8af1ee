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
let codes: readonly (readonly Word[])[] | undefined;

/**
 * Return the code of what follows each symbol: counted successors, blended with all symbols (Witten and Bell).
 *
 * All are made together: made one by one, when a text first needs them, they would show how many symbols it has.
 */
function codesAfter(): readonly (readonly Word[])[] {
  if (codes !== undefined) return codes;
  const unseen = huffmanCode(alone);
  codes = Array.from({ length: END + 1 }, (_, before) => {
    const counts = counted.get(before);
    if (counts === undefined) return unseen;
    return huffmanCode(alone.map((count, after) => (counts.get(after) ?? 0) * everything + counts.size * count));
  });
  return codes;
}

/** Return the canonical code: shorter words first, then smaller symbols, counting upwards. */
function huffmanCode(weights: readonly number[]): readonly Word[] {
  // join the two lightest groups until one is left; of equal weights the one with the smaller symbol is lighter
  const groups = weights.map((weight, symbol) => ({ weight, symbol, node: symbol }));
  const heavier = (one: (typeof groups)[0], two: (typeof groups)[0]): number =>
    two.weight - one.weight || two.symbol - one.symbol;
  groups.sort(heavier);
  const parents = weights.map(() => 0);
  while (groups.length > 1) {
    const [first, second] = [groups.pop()!, groups.pop()!];
    const symbol = first.symbol < second.symbol ? first.symbol : second.symbol;
    const joined = { weight: first.weight + second.weight, symbol, node: parents.length };
    parents[first.node] = parents[second.node] = joined.node;
    parents.push(0);
    let [low, high] = [0, groups.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (heavier(groups[middle]!, joined) < 0) low = middle + 1;
      else high = middle;
    }
    groups.splice(low, 0, joined);
  }
  const depths = parents.map(() => 0);
  for (let node = parents.length - 2; node >= 0; node--) depths[node] = depths[parents[node]!]! + 1;
  const lengths = depths.slice(0, weights.length);
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

/**
 * Return a text's code, repeated from its beginning until there are so many bytes, or cut there.
 *
 * Every word has a bit at least, so 8 symbols for each chunk fill all of them: no more of a text is looked at.
 */
export function chunksOf(text: Uint8Array, chunks: number): Uint8Array {
  const words = codesAfter();
  const symbols = [...text.subarray(0, 8 * chunks), END].slice(0, 8 * chunks);
  let [code, length, before] = [0n, 0n, END];
  for (const symbol of symbols) {
    const [word, bits] = words[before]![symbol]!;
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
