/** Oracles by name and by number, and which one a list is answered through. */

import { check } from "../errors.js";
import type { Rational } from "../rational.js";
import { kRandomizedResponse } from "./krr.js";
import { optimizedLocalHashing } from "./olh.js";
import { optimizedUnaryEncoding } from "./oue.js";
import type { Oracle } from "./protocol.js";
import { walshHashing } from "./walsh.js";

const ORACLES = [kRandomizedResponse, optimizedUnaryEncoding, optimizedLocalHashing, walshHashing];
/** The better of k-RR and OUE for the length of each list. */
const LISTED = "listed";

/** Return the oracles that the devices of a task may be asked through. */
export function taskOracles(rule: string): [Oracle, ...Oracle[]] {
  if (rule === LISTED) return [kRandomizedResponse, optimizedUnaryEncoding];
  const found = ORACLES.find((oracle) => oracle.name === rule);
  check(found !== undefined, "question", "oracle", "a known one", rule);
  return [found];
}

/** Return the oracle for a list of d slots, the dummy counted: k-RR while d < 3 e^eps + 2. */
export function oracleFor(rule: string, odds: Rational, slots: number): Oracle {
  const [first, long] = taskOracles(rule);
  return long === undefined || BigInt(slots - 2) * odds.denominator < 3n * odds.numerator ? first : long;
}

export function oracleTagged(tag: number): Oracle | undefined {
  return ORACLES.find((oracle) => oracle.tag === tag);
}
