/** One user's device and its party: checks, one report, the same bytes whenever it is sent again. */

import { digestBytes, fromHex, hex } from "../bytes.js";
import type { Campaign } from "../device/campaigns.js";
import { Device } from "../device/device.js";
import { Ledger, type LedgerEntry } from "../device/ledger.js";
import { LEAST_SLOTS } from "../device/listChecks.js";
import { campaignOf, checkTime, trustedTask } from "../device/trustedTask.js";
import { deviceCode } from "../encoding/deviceItems.js";
import { codecNamed, listedItems, type ItemCodec } from "../encoding/itemCodecs.js";
import { check, TreetopError, type Code } from "../errors.js";
import { uniformBelow, type Entropy } from "../randomness.js";
import { isAbove, parsedRational, rationalText } from "../rational.js";
import type { OwnItems } from "../sets.js";
import type { Verifier } from "../wire/signedDocuments.js";
import { listTerms } from "../wire/task.js";
import { counts, isTold, passing, readTicket, type Verdict } from "../wire/uploads.js";
import type { DeviceState, WithState } from "./deviceState.js";
import { partyClient } from "./partyClient.js";

/** A text, or bytes that should be one; where tasks are about sets, a list of them: of all uses where uses count. */
export type OneOrMore = string | Uint8Array | readonly (string | Uint8Array)[];
/** What a device's item is, or its items are; read once, after all randomness is drawn. */
export type Item = OneOrMore | (() => OneOrMore | Promise<OneOrMore>);

export interface DeviceOptions {
  /** Address of the party, https://… */
  readonly party: string;
  /** The party's name, as tasks have it. */
  readonly partyName: string;
  /** Digest of the task, 64 hexadecimal digits. */
  readonly task: string;
  /** The server's public keys, 64 hexadecimal digits each: two while one replaces the other. */
  readonly serverKeys: readonly string[];
  /** The ticket, 48 hexadecimal digits, or who fetches one; it is asked for once and then kept. */
  readonly ticket: string | (() => string | Promise<string>);
  /**
   * What the device's owner allows: epsilon as text, "4" for a task, "8" in a lifetime and "4" in a window of 84 days
   * unless said otherwise; what is allowed for one task is allowed in a window.
   */
  readonly caps?: { perTask?: string; lifetime?: string; window?: string; windowDays?: number; attribute?: string; leastSlots?: number };
  /** Milliseconds: a delay up to it is drawn, and waited for, before the value is read. */
  readonly maxDelay?: number;
  /** The owner holds a set, however many items that are: tasks about single items are refused. */
  readonly holdsSet?: boolean;
  /** Wait while the party is not ready (rounds), instead of failing with an error of kind `later`. */
  readonly wait?: boolean;
  /** Milliseconds that a party may be away or busy before a call fails with an error of kind `away`: 120,000. */
  readonly retryFor?: number;
  /** Told in plain words what is being done. */
  readonly say?: (text: string) => void;
}

/** What a device is plugged into. */
export interface Platform {
  readonly withState: WithState;
  readonly entropy: Entropy;
  readonly verifies: Verifier;
  /** Whole seconds since 1970; it may jump. */
  readonly now: () => number;
}

/** What a device has done about its task so far; nothing of it says what its item is. */
export interface Status {
  /** `new`: nothing; `begun`: paid for, not made; `made`: may not have arrived; `delivered`: the party has it. */
  readonly stage: "new" | "begun" | "made" | "delivered";
  /** The very bytes of the report, once they are made. */
  readonly report: Uint8Array | null;
  /** Epsilon of all tasks together, and the most that the owner allows. */
  readonly spent: string;
  readonly lifetime: string;
  /** Epsilon of what counts in the window that ends now, the most that the owner allows, and when some of it is renewed. */
  readonly window: { readonly spent: string; readonly most: string; readonly renews: number | null };
  /** Of a campaign: the week of this cycle that the device drew, counted from 1, and its time; null before that. */
  readonly week: { readonly week: number; readonly weeks: number; readonly opens: number; readonly ends: number } | null;
}

/** A device that believes a task and may answer it. */
export interface SingleDevice {
  readonly task: {
    readonly name: string;
    readonly attribute: string;
    readonly epsilon: string;
    readonly oracle: string;
    readonly parties: readonly string[];
    readonly oneShot: boolean;
  };
  status(): Promise<Status>;
  /**
   * Refuse now what this device may not answer, so that nobody is asked in vain; on first sight of a campaign's cycle this
   * draws and pays for the week in which it answers.
   */
  check(): Promise<Status>;
  /** Make the report and send nothing yet: its very bytes are in the status that is returned. */
  prepare(item: Item): Promise<Status>;
  /**
   * Answer the task and deliver; return the verdict. Whatever happens, a later call sends the same bytes, and the item
   * is not read again once the report is made.
   */
  answer(item: Item): Promise<Verdict>;
}

const POLL_MILLISECONDS = 2000;
const DAY = 86_400;
const WINDOW_DAYS = 84;

/** Fetch a task and believe it, or refuse it; nothing is drawn or read before it is answered. */
export async function openSingleDevice(options: DeviceOptions, platform: Platform): Promise<SingleDevice> {
  const { task: digest, party, partyName, ticket: givenTicket, maxDelay = 0, wait, say = () => {} } = options;
  const { perTask = "4", lifetime = "8", window, windowDays = WINDOW_DAYS, attribute, leastSlots = LEAST_SLOTS } = options.caps ?? {};
  const { withState, entropy, verifies, now } = platform;
  check(digestBytes(digest) !== null, "input", "digest of the task", "64 hexadecimal digits", digest);
  const taskCap = parsedRational(perTask);
  const usual = parsedRational("4");
  const windowCap = window === undefined ? (isAbove(taskCap, usual) ? taskCap : usual) : parsedRational(window);
  check(Number.isInteger(windowDays) && windowDays > 0, "input", "days of the window", "a whole number above 0", windowDays);
  const caps = { perTask: taskCap, lifetime: parsedRational(lifetime), window: windowCap, windowSeconds: DAY * windowDays, attribute, leastSlots };
  const client = partyClient(party, digest, entropy, options.retryFor);
  const trusted = await trustedTask(await client.task(), digest, partyName, verifies);
  const { task } = trusted;
  const { name: encoding, hash_key, normalise = "" } = task.encoding;
  const nameBits = task.reports === "names" ? task.lengths[1]! : task.bits;
  const unlistedCodec = encoding !== "catalogue" ? await codecNamed(encoding, nameBits, hash_key, (task.bits - nameBits) >> 3) : null;
  let codec: ItemCodec | undefined;
  const [ticketNote, enrolledNote, refusedNote] = [`ticket-${digest}`, `enrolled-${digest}`, `refused-${digest}`];

  function openLedger({ ledger, counter }: DeviceState): Promise<Ledger> {
    return Ledger.open(ledger, counter, caps, now);
  }

  /** Return the device's ticket: the one that was kept, or the one given, which is kept from then on. */
  async function ownTicket({ notes }: DeviceState): Promise<Uint8Array> {
    const kept = await notes.read(ticketNote);
    if (kept !== null) return readTicket(kept);
    const fresh = readTicket(typeof givenTicket === "function" ? await givenTicket() : givenTicket);
    await notes.write(ticketNote, hex(fresh));
    return fresh;
  }

  async function patiently<Result>(step: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!(error instanceof TreetopError) || error.kind !== "later" || !wait) throw error;
        await sleep(POLL_MILLISECONDS);
      }
    }
  }

  /** Return a document of the party once there is one; none will come once the task is closed. */
  function published(fetched: () => Promise<Uint8Array | null>, otherwise: string): Promise<Uint8Array> {
    return patiently(async () => {
      const document = await fetched();
      if (document !== null) return document;
      check(await client.isOpen(), "question", "state of the task", "open", "closed");
      throw new TreetopError("later", otherwise);
    });
  }

  const campaign = task.campaign ? await campaignOf(trusted, await published(() => client.campaign(task.campaign!.campaign), "The campaign is not published yet")) : null;

  async function delay(): Promise<void> {
    const milliseconds = Number(uniformBelow(BigInt(maxDelay + 1), entropy));
    if (milliseconds === 0) return;
    say(`Waiting ${Math.ceil(milliseconds / 1000)} s, so that the time of sending says nothing.`);
    await sleep(milliseconds);
  }

  /** Return what makes the code of an item; over a catalogue only with the list that the signed task names. */
  async function taskCodec(): Promise<ItemCodec> {
    if (unlistedCodec !== null) return unlistedCodec;
    const document = await published(client.itemList, "The list of items is not published yet");
    const items = await (await import("../wire/itemLists.js")).readItemList(document, task.item_list!);
    check(items !== null, "peer", "list of items", "the one that the task names");
    return listedItems(items, nameBits);
  }

  async function answerList(device: Device, { notes }: DeviceState, ticket: Uint8Array): Promise<void> {
    if ((await notes.read(enrolledNote)) === null) {
      const verdict = await client.enrol(ticket);
      if (!counts(verdict)) throw new TreetopError("refused", `the party does not enrol this device: ${verdict}`);
      await notes.write(enrolledNote, verdict);
      say("Enrolled.");
    }
    const { ownList } = await import("../device/rounds.js");
    const { enrolment, list } = await ownList(trusted, ticket, listTerms(task), say, {
      beacon: () => published(client.beacon, "Enrolment has not closed yet"),
      list: (group) => published(() => client.candidateList(group), "The list of candidates is not published yet"),
    });
    await device.answer(task, enrolment, list.question, list.published, campaign);
  }

  /** Refuse on public grounds, before anything but a week is drawn, what must not be answered. */
  async function checkAllowed(device: Device, ledger: Ledger, { notes }: DeviceState): Promise<void> {
    if (ledger.entry(digest) !== undefined) return;
    check(!options.holdsSet || task.setFace !== null, "question", "task", "one about sets of items");
    checkTime(task, !task.oneShot && (await notes.read(enrolledNote)) === null, ledger.now);
    if (!task.oneShot) (await import("../device/rounds.js")).checkListLengths(trusted, leastSlots);
    // the draw of a week pays for its cycle: all that the task needs must be there before
    if (campaign && !ownWeek(campaign, ledger)) codec = await taskCodec();
    await device.checkAllowed(task, campaign);
  }

  /** Tell the party once that this device may not answer, and nothing but the code; it need not hear it. */
  async function tell(code: Code, state: DeviceState): Promise<void> {
    const { notes } = state;
    if ((await notes.read(refusedNote)) !== null) return;
    const ticket = await ownTicket(state);
    await delay();
    if (counts(await client.tellRefusal(ticket, code))) await notes.write(refusedNote, code);
  }

  async function telling(state: DeviceState, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (error instanceof TreetopError && isTold(error.code)) await tell(error.code, state).catch(() => {});
      throw error;
    }
  }

  /** Make the report, unless it is there. */
  async function make(device: Device, ledger: Ledger, state: DeviceState): Promise<void> {
    const entry = ledger.entry(digest);
    if (entry?.sent) return say("The report was made before; the same bytes are sent.");
    await checkAllowed(device, ledger, state);
    const ticket = await ownTicket(state);
    codec ??= await taskCodec();
    await delay();
    if (entry === undefined && task.oneShot) taken(await client.checkTicket(ticket), "ticket: nothing was spent");
    await (task.oneShot ? device.answerOnce(task, campaign) : answerList(device, state, ticket));
    say(`One report was made, for epsilon ${task.budget.text}, and written to the ledger.`);
  }

  function statusOf(ledger: Ledger): Status {
    const entry = ledger.entry(digest);
    const { spent, renews } = ledger.window;
    return {
      stage: stageOf(entry), report: fromHex(entry?.sent), spent: rationalText(ledger.spent), lifetime,
      window: { spent: rationalText(spent), most: rationalText(windowCap), renews }, week: campaign && ownWeek(campaign, ledger),
    };
  }

  function ownWeek({ digest: name, weeks, opens }: Campaign, { slots }: Ledger): Status["week"] {
    const { cycle } = task.campaign!;
    const drawn = slots.find((each) => each.campaign === name && each.cycle === cycle);
    return drawn ? { week: drawn.slot + 1, weeks, opens: opens(cycle, drawn.slot), ends: opens(cycle, drawn.slot + 1) } : null;
  }

  async function made(item: Item, ledger: Ledger, state: DeviceState): Promise<Device> {
    const value = async (): Promise<bigint | OwnItems | null> => {
      const [held, steps] = [typeof item === "function" ? await item() : item, normalise.split(",")];
      if (task.sets === undefined) return deviceCode(codec!, held, steps);
      return (await import("../sets.js")).deviceSet(codec!, held, steps, task.sets);
    };
    const device = new Device(value, entropy, ledger);
    await telling(state, () => make(device, ledger, state));
    return device;
  }

  return {
    task,
    status: () => withState(async (state) => statusOf(await openLedger(state))),
    check: () =>
      withState(async (state) => {
        const ledger = await openLedger(state);
        await telling(state, () => checkAllowed(new Device(() => Promise.resolve(null), entropy, ledger), ledger, state));
        return statusOf(ledger);
      }),
    prepare: (item) =>
      withState(async (state) => {
        const ledger = await openLedger(state);
        await made(item, ledger, state);
        return statusOf(ledger);
      }),
    answer: (item) =>
      withState(async (state) => {
        const device = await made(item, await openLedger(state), state);
        const ticket = await ownTicket(state);
        let verdict = "malformed" as Verdict;
        await patiently(() => device.deliver(task, async (batch) => {
          verdict = await client.submit(ticket, batch);
          taken(verdict, "report");
        }));
        say(`Delivered: the party ${verdict === "replayed" ? "had it already" : "has it"}.`);
        return verdict;
      }),
  };
}

function taken(verdict: Verdict, what: string): void {
  if (passing(verdict)) throw new TreetopError("later", `The party does not take reports yet (${verdict})`);
  if (!counts(verdict)) throw new TreetopError("refused", `the party does not take the ${what} (${verdict})`);
}

function stageOf(entry: LedgerEntry | undefined): Status["stage"] {
  if (entry === undefined) return "new";
  return entry.delivered ? "delivered" : entry.sent === null ? "begun" : "made";
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
