/**
 * One private value, one perturbed report for each task.
 *
 * The order is the promise: the question is checked on public data, the group and the cost are written to the ledger,
 * all randomness is drawn, the value is read last, the report is written to the ledger, and only then sent. The week in
 * which a campaign is answered is drawn and written with its cost when the campaign's cycle is first seen. No variable
 * holds the value, its key or its slot.
 */

import { fromHex, type Digest } from "../bytes.js";
import { check, TreetopError } from "../errors.js";
import type { Entropy } from "../randomness.js";
import { rationalText } from "../rational.js";
import type { Group } from "../wire/groups.js";
import type { OwnItems } from "../sets.js";
import { encodedBatch, NO_DOMAIN } from "../wire/reportBatches.js";
import type { Publication, Question } from "../wire/lists.js";
import { faceFor, type DeviceTask } from "../wire/task.js";
import type { Campaign } from "./campaigns.js";
import { drawnGroup, type Enrolment } from "./groupAssignment.js";
import type { Ledger, LedgerEntry } from "./ledger.js";
import { PrivateValue } from "./privateValue.js";

/**
 * Reads the device's own code, or null for an item without one; for a task about sets, the items with their codes.
 * Called once, after all randomness is drawn.
 */
export type ValueSource = () => Promise<bigint | OwnItems | null>;

/** The way to the party: returns once the party has acknowledged the batch; sending it again does no harm. */
export type Outbox = (batch: Uint8Array) => Promise<void>;

/** A list that was checked: how many slots it has, the dummy counted, and the slot of a prefix. */
interface AnsweredList {
  readonly slots: number;
  readonly slotOf: (prefix: bigint | null) => bigint;
}

/** One user's device; it has no seed. */
export class Device {
  readonly #value: ValueSource;
  readonly #entropy: Entropy;
  readonly #ledger: Ledger;

  constructor(value: ValueSource, entropy: Entropy, ledger: Ledger) {
    this.#value = value;
    this.#entropy = entropy;
    this.#ledger = ledger;
  }

  /**
   * Refuse a task that costs more than the owner allows, or of another week than the device's own. On first sight of a
   * campaign's cycle its week is drawn and written down, whichever week is asked about.
   */
  async checkAllowed(task: DeviceTask, campaign: Campaign | null): Promise<void> {
    const { campaign: place } = task;
    if (place === undefined) return this.#ledger.checkAllowed(task.attribute, task.budget.amount);
    check(campaign !== null, "question", "campaign of the task", place.campaign, "none");
    const { slot } = await campaign.ownSlot(task, this.#ledger, this.#entropy);
    if (slot !== place.week) {
      throw new TreetopError("question", `week of the task: expected ${slot}, which this device drew, from 0 on, found ${place.week}`, "not_my_week");
    }
  }

  /** Return the one report of a one-shot task, at a level of the device's own drawing. */
  async answerOnce(task: DeviceTask, campaign: Campaign | null = null): Promise<Uint8Array> {
    if (!task.oneShot) throw new TreetopError("promise", "this task needs a list");
    let entry = this.#ledger.entry(task.digest);
    if (entry === undefined) {
      await this.checkAllowed(task, campaign);
      entry = await this.#reserve(task, drawnGroup(task, this.#entropy), NO_DOMAIN);
    }
    return fromHex(entry.sent) ?? this.#settle(task, entry, null);
  }

  /** Return the one report of a task in rounds, or refuse the question. */
  async answer(
    task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication, campaign: Campaign | null = null,
  ): Promise<Uint8Array> {
    const { assignedGroup, checkQuestion, listDigest, slotOf } = await import("./rounds.js");
    const own = await assignedGroup(task, enrolment);
    checkQuestion(task, own, question, published, this.#ledger.caps.leastSlots);
    const domain = await listDigest(question);
    let entry = this.#ledger.entry(task.digest);
    if (entry === undefined) {
      await this.checkAllowed(task, campaign);
      entry = await this.#reserve(task, own, domain);
    }
    if (entry.domain !== domain) {
      throw new TreetopError("promise", "this task was answered for another list");
    }
    return fromHex(entry.sent) ?? this.#settle(task, entry, { slots: question.prefixes.length + 1, slotOf: (prefix) => slotOf(question, prefix) });
  }

  /** Send the report of a task, which must have been answered, and note that it arrived. */
  async deliver({ digest }: DeviceTask, outbox: Outbox): Promise<void> {
    const sent = fromHex(this.#ledger.entry(digest)?.sent);
    if (sent === null) throw new TreetopError("promise", "this task has no report");
    await outbox(sent);
    await this.#ledger.markDelivered(digest);
  }

  #reserve({ digest, attribute, budget, campaign }: DeviceTask, group: Group, domain: Digest): Promise<LedgerEntry> {
    const epsilon = rationalText(budget.amount);
    const cycle = campaign ? ([campaign.campaign, campaign.cycle] as const) : null;
    return this.#ledger.reserve({ task: digest, attribute, group, domain, epsilon, sent: null, delivered: false, cycle });
  }

  /**
   * Answer a list with the slot of the first bits, or the dummy's; without a list their key, or that of a name, is hashed.
   * Of a set, those of the items that the draw chooses: which they are is kept nowhere.
   */
  async #settle(task: DeviceTask, { group, domain }: LedgerEntry, list: AnsweredList | null): Promise<Uint8Array> {
    const { digest, bits, lengths, setFace } = task;
    const [level] = group;
    const { tag, slots, draw } = setFace ?? faceFor(task, list?.slots);
    const report = draw(this.#entropy) as (asked: unknown) => Uint8Array | Promise<Uint8Array>;
    const asked = (code: bigint | null): bigint => {
      const value = new PrivateValue(code, bits);
      return list === null ? value.key(task, level) : list.slotOf(value.prefix(bits, lengths[level]!));
    };
    const askedOf = (own: bigint | OwnItems | null): unknown =>
      setFace === null ? asked(own as bigint | null) : (own as OwnItems).map(([entry, code]) => [entry, () => asked(code())]);
    const body = await report(askedOf(await this.#readValue()));
    const batch = encodedBatch({ task: digest, group, domain, tag, slots }, body);
    await this.#ledger.settle(digest, batch);
    return batch;
  }

  async #readValue(): Promise<bigint | OwnItems | null> {
    try {
      return await this.#value();
    } catch {
      throw new TreetopError("value", "the device's own value could not be read"); // whatever it says may show the value
    }
  }
}
