/**
 * What a device has answered, written down before anything is sent.
 *
 * One entry for each task: first its group and its cost, then the bytes of its report, then that they arrived. A task
 * that is asked about again gets the same bytes. One slot for each cycle of a campaign: the week that was drawn, and the
 * cost of the cycle. Every write raises a counter, which a second place remembers, so that an older ledger put back in
 * its place is noticed. The bytes are those that Treetop's Python device writes.
 */

import { fromUtf8, hex, sha256, utf8, type Digest } from "../bytes.js";
import { check, TreetopError } from "../errors.js";
import { isAbove, parsedRational, rational, rationalText, sum, type Rational } from "../rational.js";
import { canonicalJson } from "../wire/canonicalJson.js";
import type { Group } from "../wire/groups.js";
import { normalised } from "./attributes.js";

const VERSION = 2;

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

/** What a device's owner allows; a day, a restart, a new task, name or key renews none of it but the window. */
export interface Caps {
  readonly perTask: Rational;
  /** For all tasks and campaigns together, whatever they ask about. */
  readonly lifetime: Rational;
  /** For all tasks answered and all cycles begun within a window. */
  readonly window: Rational;
  readonly windowSeconds: number;
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
  /** Seconds since 1970 at which the budget was reserved. */
  readonly time: number;
  /** The cycle that paid for it when its week was drawn; null: the task pays for itself. */
  readonly cycle: readonly [campaign: Digest, cycle: number] | null;
};

/** The week of a cycle in which this device answers a campaign; drawn once, and it pays for the whole cycle. */
export type CycleSlot = {
  readonly campaign: Digest;
  readonly cycle: number;
  /** The week, from 0 to weeks - 1. */
  readonly slot: number;
  readonly weeks: number;
  readonly epsilon: string;
  readonly attribute: string;
  /** The campaign's. */
  readonly name: string;
  readonly time: number;
};

type Charge = LedgerEntry | CycleSlot;

/** The only way to a report. */
export class Ledger {
  #counter = 0;
  #entries = new Map<string, LedgerEntry>();
  #slots = new Map<string, CycleSlot>();

  private constructor(
    private readonly store: LedgerStore, private readonly counters: CounterStore, readonly caps: Caps, private readonly clock: () => number,
  ) {}

  static async open(store: LedgerStore, counters: CounterStore, caps: Caps, clock: () => number): Promise<Ledger> {
    const ledger = new Ledger(store, counters, caps, clock);
    const stored = await store.load();
    const { counter, entries, slots } = stored === null ? NEW : await read(stored);
    ledger.#counter = counter;
    ledger.#keep(entries, slots);
    const remembered = await counters.read();
    check(counter >= remembered, "ledger", "counter of the ledger", `${remembered} at least`, counter);
    if (counter > remembered) await counters.advance(counter); // a crash came between the two writes
    return ledger;
  }

  /** The clock's time, but none before the newest entry: a clock that is set back renews nothing. */
  get now(): number {
    return this.#charges.reduce((newest, { time }) => (time > newest ? time : newest), this.clock());
  }

  entry(task: Digest): LedgerEntry | undefined {
    return this.#entries.get(task);
  }

  /** All weeks that were drawn, oldest first. */
  get slots(): readonly CycleSlot[] {
    return [...this.#slots.values()];
  }

  /** All that was paid for: tasks outside campaigns, and cycles, whether their week was met or missed. */
  get #charges(): readonly Charge[] {
    return [...[...this.#entries.values()].filter(({ cycle }) => !cycle), ...this.slots];
  }

  /** The exact sum of all budgets promised to tasks and cycles. */
  get spent(): Rational {
    return total(this.#charges);
  }

  /** What counts in the window that ends now, and when the first of it will be renewed. */
  get window(): { readonly spent: Rational; readonly renews: number | null } {
    const begin = this.now - this.caps.windowSeconds;
    const charges = this.#charges.filter(({ time }) => time > begin);
    const [first] = charges.map(({ time }) => time).sort((one, two) => one - two);
    return { spent: total(charges), renews: first === undefined ? null : first + this.caps.windowSeconds };
  }

  /** Refuse a task about something else, or one that would cost more than the owner allows. */
  checkAllowed(attribute: string, epsilon: Rational): void {
    this.#checkAttribute(attribute);
    this.#checkCap("task", this.caps.perTask, epsilon);
    this.#checkCap("lifetime", this.caps.lifetime, sum(this.spent, epsilon));
    this.#checkCap("window", this.caps.window, sum(this.window.spent, epsilon));
  }

  /** What alone this device is asked about is its owner's word, or the first task's. */
  #checkAttribute(attribute: string): void {
    const first = this.#charges.reduce<Charge | undefined>((oldest, each) => (oldest && oldest.time <= each.time ? oldest : each), undefined);
    const own = this.caps.attribute ?? first?.attribute ?? attribute;
    check(normalised(attribute) === normalised(own), "question", "attribute of the task", own, attribute);
  }

  #checkCap(what: "task" | "window" | "lifetime", most: Rational, found: Rational): void {
    if (isAbove(found, most)) {
      throw new TreetopError("budget", `epsilon of the ${what}: expected ${rationalText(most)} at most, found ${rationalText(found)}`, `budget_${what}`);
    }
  }

  /** Charge for a cycle and fix its week, before any value is read; it is never drawn again. */
  async takeSlot(slot: Omit<CycleSlot, "time">): Promise<CycleSlot> {
    if (this.#slots.has(cycleKey(slot))) throw new TreetopError("promise", "this cycle has its week");
    this.checkAllowed(slot.attribute, parsedRational(slot.epsilon));
    const taken = { ...slot, time: this.now };
    await this.#write([], [taken]);
    return taken;
  }

  /** Charge for a task and fix its group and domain, before the value is read; a cycle has paid already. */
  async reserve(entry: Omit<LedgerEntry, "time">): Promise<LedgerEntry> {
    if (this.entry(entry.task) !== undefined) throw new TreetopError("promise", "this task has an entry");
    if (entry.cycle) {
      const [campaign, cycle] = entry.cycle;
      this.#checkAttribute(entry.attribute);
      const paid = this.#slots.get(cycleKey({ campaign, cycle }))?.epsilon === entry.epsilon;
      const answered = [...this.#entries.values()].some((each) => `${each.cycle}` === `${entry.cycle}`);
      if (!paid || answered) throw new TreetopError("promise", "this cycle pays for one task, of its own week");
    } else this.checkAllowed(entry.attribute, parsedRational(entry.epsilon));
    const timed = { ...entry, time: this.now };
    await this.#write([timed]);
    return timed;
  }

  /** Fix the bytes of a task's report, before they are sent. */
  async settle(task: Digest, sent: Uint8Array): Promise<void> {
    const entry = this.entry(task)!;
    if (entry.sent !== null) throw new TreetopError("promise", "this task has a report");
    await this.#write([{ ...entry, sent: hex(sent) }]);
  }

  /** Note that the party has the report. */
  async markDelivered(task: Digest): Promise<void> {
    const entry = this.entry(task)!;
    if (!entry.delivered) await this.#write([{ ...entry, delivered: true }]);
  }

  #keep(entries: Iterable<LedgerEntry>, slots: Iterable<CycleSlot>): void {
    this.#entries = new Map(Array.from(entries, (entry) => [entry.task, entry]));
    this.#slots = new Map(Array.from(slots, (slot) => [cycleKey(slot), slot]));
  }

  async #write(changed: readonly LedgerEntry[], taken: readonly CycleSlot[] = []): Promise<void> {
    const entries = new Map(this.#entries);
    for (const entry of changed) entries.set(entry.task, entry);
    const slots = [...this.slots, ...taken];
    const text = canonicalJson({ version: VERSION, counter: this.#counter + 1, entries: [...entries.values()], slots });
    await this.store.replace(utf8(await checksummed(text)), this.#counter + 1);
    this.#keep(entries.values(), slots);
    await this.counters.advance(++this.#counter);
  }
}

interface Content {
  readonly version: number;
  readonly counter: number;
  readonly entries: readonly LedgerEntry[];
  readonly slots: readonly CycleSlot[];
}

const NEW: Content = { version: VERSION, counter: 0, entries: [], slots: [] };

function cycleKey({ campaign, cycle }: Pick<CycleSlot, "campaign" | "cycle">): string {
  return `${campaign} ${cycle}`;
}

function total(charges: readonly Charge[]): Rational {
  return charges.reduce((all, { epsilon }) => sum(all, parsedRational(epsilon)), rational(0n));
}

async function checksummed(text: string): Promise<string> {
  return `${text}\n${hex(await sha256(utf8(text)))}\n`;
}

async function read(data: Uint8Array): Promise<Content> {
  const whole = fromUtf8(data) ?? "";
  const [text = ""] = whole.split("\n");
  check(whole === (await checksummed(text)), "ledger", "checksum of the ledger", "that of its content", "another: it is damaged");
  const content = JSON.parse(text) as Content;
  const { version, counter, entries, slots } = content;
  const charges: readonly Charge[] | null = version === VERSION && entries && slots ? [...entries, ...slots] : null;
  const known = Number.isInteger(counter) && charges?.every(({ attribute, epsilon, time }) => attribute && epsilon && time >= 0);
  check(known === true, "ledger", "content of the ledger", `version ${VERSION}`, `version ${version}`);
  return content;
}
