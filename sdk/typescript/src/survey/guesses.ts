/**
 * What one report gives away, in one sentence and one picture of a hundred people.
 *
 * Whoever has to guess between two answers, each as likely as the other, is right with probability e^ε / (1 + e^ε) at
 * most once the report is known; this holds for every oracle. It is computed from the thresholds' own rational, and
 * rounded up.
 */

import { quotientAbove } from "../integers.js";
import type { Rational } from "../rational.js";
import { html, svg } from "./dom.js";

const PEOPLE = 100;
const PER_ROW = 20;
const [WIDTH, HEIGHT] = [15, 24];

/** Return how many of a hundred such guesses are right at most; e^ε lies above its lower bound by less than 2^-180. */
export function rightGuesses({ numerator, denominator }: Rational): number {
  return Number(quotientAbove(100n * numerator + 1n, numerator + denominator));
}

function person(place: number, right: number): SVGElement {
  const [x, y] = [(place % PER_ROW) * WIDTH, Math.floor(place / PER_ROW) * HEIGHT];
  const kind = place < PEOPLE / 2 ? "coin" : place < right ? "report" : "wrong";
  return svg("g", { transform: `translate(${x} ${y})`, class: kind },
    svg("circle", { cx: "7", cy: "5", r: "3.4" }),
    svg("path", { d: "M1.8 20.5v-5.2a5.2 5.2 0 0 1 10.4 0v5.2z" }));
}

export function guessesSentence(epsilon: string, right: number, bytes: number): string {
  return (
    `One randomised report of ${bytes} bytes leaves this device, never your answer: whoever reads it and guesses between ` +
    `your answer and any other is right at most ${right} times in 100, where a coin is right 50 times (ε\u00a0=\u00a0${epsilon}).`
  );
}

export function guessesPicture(right: number): HTMLElement {
  const people = Array.from({ length: PEOPLE }, (_, place) => person(place, right));
  const told = `Of 100 guesses 50 are right by chance, ${right - 50} more at most thanks to the report, and ${100 - right} are wrong.`;
  const size = `0 0 ${PER_ROW * WIDTH - 1} ${(PEOPLE / PER_ROW) * HEIGHT - 3}`;
  const key = (kind: string, text: string): HTMLElement => html("li", { class: kind }, text);
  return html("figure", {},
    svg("svg", { viewBox: size, role: "img", "aria-label": told }, ...people),
    html("ul", { class: "key", "aria-hidden": "true" },
      key("coin", "50 right by chance"), key("report", `up to ${right - 50} more by the report`), key("wrong", `${100 - right} wrong`)));
}
