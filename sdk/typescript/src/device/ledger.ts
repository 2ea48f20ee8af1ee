/**
 * What a device has answered, written down before anything is sent.
 *
 * One entry for each task: first its group and its cost, then the bytes of its report, then that they arrived. A task
 * that is asked about again gets the same bytes. Every write raises a counter, which a second place remembers, so that
 * an older ledger put back in its place is noticed. The bytes are those that Treetop's Python device writes.
 */

import { fromUtf8, hex, sha256, utf8, type Digest } from "../bytes.js";
import { check, TreetopError } from "../errors.js";
import { isAbove, parsedRational, rational, rationalText, sum, type Rational } from "../rational.js";
import { canonicalJson } from "../wire/canonicalJson.js";
import type { Group } from "../wire/groups.js";
import { normalised } from "./attributes.js";

const VERSION = 1;

/** The one place where a device's ledger lies. */
export interface LedgerStore {
  /** Return what was last stored, or null on a new device. */
  load(): Promise<Uint8Array | null>;
  /**
   * Store the ledger with that counter, all of it or nothing; once this returns it outlasts a crash. Refuse, with an
   * error of kind `ledger`, if what is stored is not the ledger before it: somebody else writes to it.
   */
  replace(ledger: Uint8Array, counter: number): Promise<void>;
}

/** A second place, which remembers how often the ledger was written. */
export interface CounterStore {
  /** Return the highest number stored, 0 on a new device. */
  read(): Promise<number>;
  /** Store a higher number. */
  advance(counter: number): Promise<void>;
}

/** What a device's owner allows; a day, a restart, a new task, name or key renews none of it. */
export interface Caps {
  readonly perTask: Rational;
  /** For all tasks together, whatever they ask about. */
  readonly lifetime: Rational;
  /** What the device's item is; undefined takes the word of the first task that it answers. */
  readonly attribute: string | undefined;
  /** The shortest candidate list that is answered, the dummy counted (rounds). */
  readonly leastSlots: number;
}

/** One task in the ledger, as it is written there. */
export type LedgerEntry = {
  readonly task: Digest;
  readonly attribute: string;
  readonly group: Group;
  readonly domain: Digest;
  readonly epsilon: string;
  /** The report as it goes out, envelope and all, in hexadecimal digits; null until it is made. */
  readonly sent: string | null;
  readonly delivered: boolean;
};

/** The only way to a report. */
export class Ledger {
  #counter = 0;
  #entries = new Map<Digest, LedgerEntry>();

  private constructor(private readonly store: LedgerStore, private readonly counters: CounterStore, readonly caps: Caps) {}

  static async open(store: LedgerStore, counters: CounterStore, caps: Caps): Promise<Ledger> {
    const ledger = new Ledger(store, counters, caps);
    const stored = await store.load();
    if (stored !== null) [ledger.#counter, ledger.#entries] = await read(stored);
    const remembered = await counters.read();
    check(ledger.#counter >= remembered, "ledger", "counter of the ledger", `${remembered} at least`, ledger.#counter);
    if (ledger.#counter > remembered) await counters.advance(ledger.#counter); // a crash came between the two writes
    return ledger;
  }

  entry(task: Digest): LedgerEntry | undefined {
    return this.#entries.get(task);
  }

  /** The exact sum of all budgets promised to tasks. */
  get spent(): Rational {
    return [...this.#entries.values()].reduce((total, { epsilon }) => sum(total, parsedRational(epsilon)), rational(0n));
  }

  /** Refuse a task about something else, or one that would cost more than the owner allows. */
  checkAllowed(attribute: string, epsilon: Rational): void {
    const [first] = this.#entries.values();
    const own = this.caps.attribute ?? first?.attribute ?? attribute;
    check(normalised(attribute) === normalised(own), "question", "attribute of the task", own, attribute);
    this.#checkCap("task", this.caps.perTask, epsilon);
    this.#checkCap("lifetime", this.caps.lifetime, sum(this.spent, epsilon));
  }

  #checkCap(what: string, most: Rational, found: Rational): void {
    check(!isAbove(found, most), "budget", `epsilon of the ${what}`, `${rationalText(most)} at most`, rationalText(found));
  }

  /** Charge for a task and fix its group and domain, before the value is read. */
  async reserve(entry: LedgerEntry): Promise<void> {
    if (this.entry(entry.task) !== undefined) throw new TreetopError("promise", "this task has an entry");
    this.checkAllowed(entry.attribute, parsedRational(entry.epsilon));
    await this.#write(entry);
  }

  /** Fix the bytes of a task's report, before they are sent. */
  async settle(task: Digest, sent: Uint8Array): Promise<void> {
    const entry = this.entry(task)!;
    if (entry.sent !== null) throw new TreetopError("promise", "this task has a report");
    await this.#write({ ...entry, sent: hex(sent) });
  }

  /** Note that the party has the report. */
  async markDelivered(task: Digest): Promise<void> {
    const entry = this.entry(task)!;
    if (!entry.delivered) await this.#write({ ...entry, delivered: true });
  }

  async #write(entry: LedgerEntry): Promise<void> {
    const entries = new Map(this.#entries).set(entry.task, entry);
    const text = canonicalJson({ version: VERSION, counter: this.#counter + 1, entries: [...entries.values()] });
    await this.store.replace(utf8(await checksummed(text)), this.#counter + 1);
    this.#entries = entries;
    await this.counters.advance(++this.#counter);
  }
}

async function checksummed(text: string): Promise<string> {
  return `${text}\n${hex(await sha256(utf8(text)))}\n`;
}

async function read(data: Uint8Array): Promise<[number, Map<Digest, LedgerEntry>]> {
  const whole = fromUtf8(data) ?? "";
  const [text = ""] = whole.split("\n");
  check(whole === (await checksummed(text)), "ledger", "checksum of the ledger", "that of its content", "another: it is damaged");
  const { version, counter, entries } = JSON.parse(text) as { version: number; counter: number; entries: LedgerEntry[] };
  check(version === VERSION, "ledger", "version of the ledger", VERSION, version);
  return [counter, new Map(entries.map((entry) => [entry.task, entry]))];
}
