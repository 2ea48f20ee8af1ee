/** Exact rationals: budgets are added and compared without rounding. */

import { check } from "./errors.js";
import { quotient } from "./integers.js";

export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Return n / d in lowest terms. */
export function rational(numerator: bigint, denominator = 1n): Rational {
  let [large, small] = [numerator, denominator];
  while (small !== 0n) [large, small] = [small, large - quotient(large, small) * small];
  return { numerator: quotient(numerator, large), denominator: quotient(denominator, large) };
}

/** Read `5`, `2.5` or `5/2`. */
export function parsedRational(text: string): Rational {
  const parts = /^(\d+)(?:\.(\d+)|\/(0*[1-9]\d*))?$/.exec(text);
  check(parts !== null, "input", "epsilon", "a number such as 2.5", text);
  const [, whole, decimals, denominator] = parts as unknown as [string, string, string?, string?];
  if (denominator !== undefined) return rational(BigInt(whole), BigInt(denominator));
  return rational(BigInt(whole + (decimals ?? "")), BigInt("1" + "0".repeat(decimals?.length ?? 0)));
}

export function rationalText({ numerator, denominator }: Rational): string {
  return denominator === 1n ? `${numerator}` : `${numerator}/${denominator}`;
}

export function sum(one: Rational, two: Rational): Rational {
  return rational(one.numerator * two.denominator + two.numerator * one.denominator, one.denominator * two.denominator);
}

export function isAbove(one: Rational, two: Rational): boolean {
  return one.numerator * two.denominator > two.numerator * one.denominator;
}
