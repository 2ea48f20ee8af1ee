/** The epsilon of one report as it was written, and a rational just below e^epsilon. */

import { check } from "./errors.js";
import { quotient } from "./integers.js";
import { isAbove, parsedRational, rational, type Rational } from "./rational.js";

const GRID_BITS = 192n;

export interface Budget {
  /** Decimal digits without needless zeros: equal budgets have equal texts. */
  readonly text: string;
  readonly amount: Rational;
  /** A rational just below e^epsilon: every threshold is computed from it. */
  readonly odds: Rational;
}

export function readBudget(text: string): Budget {
  const written = /^(0|[1-9]\d?)(\.\d{1,20})?$/.test(text);
  const amount = parsedRational(written ? text : "0");
  const allowed = !isAbove(rational(1n, 1000n), amount) && !isAbove(amount, rational(16n));
  check(allowed, "input", "epsilon", "decimal digits, 0.001 to 16", text);
  return { text: text.includes(".") ? text.replace(/\.?0+$/, "") : text, amount, odds: exponentialBelow(amount) };
}

/**
 * Return a rational below e^x for 0 <= x <= 16, closer to it than 2^-180: the Taylor series, cut where every term is at
 * most half the one before and below 2^-192, and rounded down to a multiple of 2^-192.
 */
function exponentialBelow({ numerator: a, denominator: b }: Rational): Rational {
  let [total, term, common] = [0n, 1n, 1n]; // the sum and its next term, over a common denominator
  for (let place = 0n; place * b < 2n * a || term << GRID_BITS > common; ) {
    total += term;
    place += 1n;
    total *= b * place;
    common *= b * place;
    term *= a;
  }
  return { numerator: quotient(total << GRID_BITS, common), denominator: 1n << GRID_BITS };
}
