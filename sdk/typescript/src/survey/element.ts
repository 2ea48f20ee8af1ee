/** `<treetop-survey>`: asks a person, says what leaves the device, shows the very bytes, sends, and remembers. */

import { openDevice } from "../browser.js";
import { TreetopError, type Kind } from "../errors.js";
import { ENVELOPE_BYTES } from "../wire/readBatches.js";
import { faceFor, type DeviceTask } from "../wire/task.js";
import type { SingleDevice, Status } from "../services/singleDevice.js";
import { bytesView } from "./bytesView.js";
import { html } from "./dom.js";
import { guessesPicture, guessesSentence, rightGuesses } from "./guesses.js";
import { STYLE } from "./style.js";

const MOST_RADIOS = 12;
const TICKET_SECONDS = 60;

/** What went wrong, for somebody who did not write this page. */
const IN_WORDS: Readonly<Record<Kind, string>> = {
  input: "This page is not set up correctly.",
  peer: "The answer from the survey's server makes no sense, so nothing was sent.",
  question: "This device does not answer this survey.",
  budget: "Answering would cost more privacy than this device allows.",
  promise: "This device has answered already.",
  ledger: "The record of earlier answers is damaged or was changed, so this device no longer answers.",
  value: "Your answer could not be read.",
  refused: "The survey does not take this report.",
  later: "The survey is not ready for this device yet. Leave this page open, or come back later.",
  away: "The survey cannot be reached at the moment. Nothing is lost: try again later.",
};

export class TreetopSurvey extends HTMLElement {
  readonly #root = this.attachShadow({ mode: "open" });
  readonly #body = html("div");
  readonly #status = html("p", { role: "status" });
  readonly #alert = html("p", { role: "alert" });
  #device: SingleDevice | null = null;

  connectedCallback(): void {
    if (this.#root.childNodes.length > 0) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [sheet];
    this.#root.append(html("section", { "aria-live": "polite" }, this.#body, this.#status, this.#alert));
    void this.#attempt(() => this.#open());
  }

  get #own(): SingleDevice & { readonly task: DeviceTask } {
    return this.#device as SingleDevice & { readonly task: DeviceTask };
  }

  #setting(name: string): string {
    return this.getAttribute(name) ?? "";
  }

  /** Run a step; say in plain words what went wrong, and offer to try again where that may help. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    this.#alert.replaceChildren();
    for (const button of this.#root.querySelectorAll("button")) button.disabled = true;
    try {
      await step();
    } catch (error) {
      if (error instanceof TreetopError && error.code === "not_my_week") return this.#showWeek(await this.#own.status());
      const kind = error instanceof TreetopError ? error.kind : "input";
      const again = ["later", "away"].includes(kind) && html("button", { class: "quiet", type: "button", onclick: () => void this.#attempt(step) }, "Try again");
      this.#alert.append(`${IN_WORDS[kind]} `, html("small", {}, `(${(error as Error).message})`), again || "");
    } finally {
      this.#status.replaceChildren();
      for (const button of this.#root.querySelectorAll("button")) button.disabled = false;
    }
  }

  async #open(): Promise<void> {
    this.#say("Fetching what is asked …");
    this.#device = await openDevice({
      party: new URL(this.#setting("party") || ".", document.baseURI).href, partyName: this.#setting("party-name"),
      task: this.#setting("task"), serverKeys: this.#setting("server-keys").split(/[\s,]+/).filter(Boolean),
      ticket: () => this.#ticket(), state: this.#setting("state") || "treetop", wait: this.hasAttribute("wait"),
      say: (text) => this.#say(text),
    });
    const status = await this.#own.status();
    if (status.stage === "delivered") this.#showDone(status);
    else if (status.stage === "made") await this.#send("");
    else {
      await this.#own.check(); // nobody is asked in vain
      await this.#showForm();
    }
  }

  /** Fetch a ticket from the site's own back end: 48 hexadecimal digits, as text or as JSON with a field `ticket`. */
  async #ticket(): Promise<string> {
    const given = this.#setting("ticket");
    if (given !== "") return given;
    const answer = await fetch(this.#setting("ticket-url"), { method: "POST", signal: AbortSignal.timeout(1000 * TICKET_SECONDS) })
      .catch((error: unknown) => { throw new TreetopError("away", `no ticket: ${(error as Error).name}`); });
    const text = (await answer.text()).trim();
    if (!answer.ok) throw new TreetopError(answer.status === 503 ? "away" : "refused", `no ticket: status ${answer.status}`);
    return /^\{/.test(text) ? String((JSON.parse(text) as { ticket?: unknown }).ticket) : text;
  }

  #say(text: string): void {
    this.#status.replaceChildren(text);
  }

  #heading(): HTMLElement {
    return html("h2", {}, this.#setting("question") || this.#own.task.name);
  }

  /** What leaves the device, and how much it gives away; in rounds the length of the report depends on a list to come. */
  #promise(report: Uint8Array | null = null): HTMLElement {
    const { task } = this.#own;
    const right = rightGuesses(task.budget.odds);
    const bytes = report?.length ?? ENVELOPE_BYTES + (task.setFace ?? faceFor(task, task.oneShot ? undefined : 2)).width;
    return html("div", { class: "promise" }, html("p", {}, guessesSentence(task.budget.text, right, bytes)), guessesPicture(right));
  }

  async #items(): Promise<readonly (readonly [value: string, text: string])[]> {
    const source = this.#setting("items");
    if (source === "") return Array.from(this.querySelectorAll("option"), (option) => [option.value, option.text] as const);
    const answer = await fetch(source);
    if (!answer.ok) throw new TreetopError("input", `items: expected a file at ${source}, found status ${answer.status}`);
    return (await answer.text()).split(/\r?\n/).filter((line) => line !== "").map((line) => [line, line] as const);
  }

  async #showForm(): Promise<void> {
    const items = await this.#items();
    const form = html("form", { novalidate: true },
      this.#heading(), this.#answerField(items), this.#promise(),
      html("div", { class: "actions" },
        html("button", { class: "main", type: "submit" }, "Send"),
        html("button", { class: "quiet", type: "button", onclick: () => this.#answered(form, (item) => this.#prepare(item)) }, "Show me the bytes first")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answered(form, (item) => this.#send(item));
    });
    this.#body.replaceChildren(form);
  }

  #answerField(items: readonly (readonly [string, string])[]): HTMLElement {
    const [many, few] = [this.#own.task.sets !== undefined, items.length > 0 && items.length <= MOST_RADIOS];
    const label = this.#setting("label") || (!many ? "Your answer" : few ? "Tick all that apply, or none" : "All that apply, with commas between them");
    if (few) {
      const type = many ? "checkbox" : "radio";
      const choices = items.map(([value, text]) => html("label", {}, html("input", { type, name: "item", value }), html("span", {}, text)));
      return html("fieldset", {}, html("legend", {}, label), html("div", { class: "choices" }, ...choices));
    }
    const list = html("datalist", { id: "items" }, ...items.map(([value, text]) => html("option", { value }, text)));
    const field = html("input", { type: "text", name: "item", id: "item", autocomplete: "off", list: "items", spellcheck: "false", maxlength: "1000" });
    return html("div", {}, html("label", { for: "item" }, label), field, list);
  }

  /** A set may be empty: whoever has none of it answers like everybody else. */
  #answered(form: HTMLFormElement, then: (item: string | string[]) => Promise<void>): void {
    const many = this.#own.task.sets !== undefined;
    const typed = form.querySelector("input[type=text]") !== null;
    const given = new FormData(form).getAll("item").flatMap((item) => (many && typed ? String(item).split(",") : String(item)));
    const items = given.map((item) => item.trim()).filter((item) => item !== "");
    const item = many ? items : items[0];
    if (item !== undefined) return void this.#attempt(() => then(item));
    this.#alert.replaceChildren("Please give an answer first.");
    form.querySelector("input")?.focus();
  }

  async #prepare(item: string | string[]): Promise<void> {
    this.#showMade(await this.#own.prepare(item));
  }

  async #send(item: string | string[]): Promise<void> {
    const verdict = await this.#own.answer(item);
    const status = await this.#own.status();
    this.#showDone(status);
    this.dispatchEvent(new CustomEvent("treetop-delivered", { bubbles: true, composed: true, detail: { verdict } }));
  }

  /** The report is made and has not been sent: it is the same whenever that happens. */
  #showMade(status: Status): void {
    const send = html("button", { class: "main", type: "button", onclick: () => void this.#attempt(() => this.#send("")) }, "Send these bytes");
    this.#body.replaceChildren(this.#heading(), html("p", {}, "Your report is made. It has not left this device yet."),
      this.#bytes(status, true), html("div", { class: "actions" }, send));
    send.focus();
  }

  /** The survey is asked again and again, and this device answers in another week: the one that it drew. */
  #showWeek({ week }: Status): void {
    const { week: own, weeks, opens, ends } = week!;
    const day = (second: number): string => new Date(1000 * second).toLocaleDateString(undefined, { dateStyle: "long" });
    const when = `week ${own} of ${weeks}, from ${day(opens)} to ${day(ends - 1)}`;
    this.#body.replaceChildren(this.#heading(),
      html("p", {}, html("strong", {}, Date.now() < 1000 * opens ? `Your week is ${when}. Please come back then.` : `Your week was ${when}. You will have another one in the next ${weeks} weeks.`)),
      html("p", {}, `This survey is asked again and again. Of every ${weeks} weeks this device answers in one, which it has drawn by itself: ` +
        "so all of them together cost no more privacy than one answer. The survey was told that this is not your week, and nothing else."));
  }

  #showDone(status: Status): void {
    const done = html("p", { class: "done", tabindex: "-1" }, "Thank you. Your report has arrived.");
    const { spent, lifetime } = status;
    this.#body.replaceChildren(this.#heading(), done,
      html("p", {}, `This device remembers that it has answered, and sends nothing else for this survey${status.week ? " in these " + status.week.weeks + " weeks" : ""}.`),
      this.#promise(status.report), this.#bytes(status, false),
      html("p", { class: "meta" }, `Privacy spent on this device: ε = ${spent} of ${lifetime} in all.`));
    if (this.#root.activeElement !== null) done.focus();
  }

  #bytes({ report }: Status, open: boolean): HTMLElement {
    return html("details", { open }, html("summary", {}, "The bytes of your report"), report && bytesView(report));
  }
}
