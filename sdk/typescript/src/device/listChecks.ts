/**
 * What a device checks before it answers a published candidate list (rounds).
 *
 * Everything here is a function of public data: the value has not been read, so a refusal says nothing about it.
 */

import { check } from "../errors.js";
import { bitLength } from "../integers.js";
import { groupText, type Group } from "../wire/groups.js";
import type { Publication, Question } from "../wire/lists.js";
import type { DeviceTask } from "../wire/task.js";

/** The longest floor that every mechanism's default task meets: four candidates of two bits, and the dummy. */
export const LEAST_SLOTS = 5;

function refuse(holds: boolean, what: string, expected: unknown, found?: unknown): void {
  check(holds, "question", what, expected, found);
}

/** Refuse a question that its task does not allow, or of fewer slots than the owner does. */
export function checkQuestion(
  task: DeviceTask, own: Group, question: Question, published: Publication, leastSlots: number,
): void {
  const { lengths, k, most_slots } = task;
  const { group, length, prefixes, pruned } = question;
  const [level, role] = own;
  refuse(!task.oneShot, "mode of the task", "rounds", "one-shot");
  refuse(question.task === task.digest, "task", task.digest, question.task);
  refuse(groupText(group) === groupText(own), "group", groupText(own), groupText(group));
  refuse(length === lengths[level], "length of the candidates", lengths[level], length);
  checkPrefixes("candidates", prefixes, length);
  checkPrefixes("pruned candidates", pruned, length);
  checkPrefixes("published", published.prefixes, published.length);
  const [slots, least] = [prefixes.length + 1, smallestDomain(task, own)];
  refuse(prefixes.length >= least, "candidates", `${least} at least`, prefixes.length);
  refuse(slots <= most_slots && slots >= leastSlots, "slots", `${leastSlots} to ${most_slots}`, slots);
  const step = BigInt(length - published.length);
  if (role === "estimate") {
    refuse(pruned.length <= 2 * k, "pruned candidates", `${2 * k} at most`, pruned.length);
    refuse(published.length === lengths[level - 1], "length of the published", lengths[level - 1], published.length);
    checkChildren([...prefixes, ...pruned], published.prefixes, step);
  } else {
    refuse(prefixes.length <= 2 * k && pruned.length === 0, "candidates", `${2 * k} at most, none pruned`);
    const known = new Set(published.prefixes);
    const below = step >= 0n && prefixes.every((prefix) => known.has(prefix >> step));
    refuse(below, "candidates", "descendants of the published");
  }
}

function checkPrefixes(what: string, prefixes: readonly bigint[], length: number): void {
  const rising = prefixes.every((prefix, place) => place === 0 || prefixes[place - 1]! < prefix);
  refuse(rising && bitLength(prefixes.at(-1) ?? 0n) <= length, what, `ascending, of ${length} bits`);
}

/** All children of the published prefixes are asked about, less 2k at most that were pruned openly. */
function checkChildren(asked: bigint[], published: readonly bigint[], step: bigint): void {
  asked.sort((one, two) => (one < two ? -1 : 1));
  const all = BigInt(asked.length) === BigInt(published.length) << step && asked.every((prefix, place) => {
    const parent = published[Number(BigInt(place) >> step)]!;
    return prefix === ((parent << step) | (BigInt(place) & ((1n << step) - 1n)));
  });
  refuse(all, "candidates", "all children of the published, less those pruned");
}

/** Return d_min: all of level 1; later twice the children of one prefix, or 2k for a smaller validation list. */
function smallestDomain({ lengths, k }: DeviceTask, [level, role]: Group): bigint {
  const least = (level === 1 ? 1n : 2n) << BigInt(lengths[level]! - lengths[level - 1]!);
  return role === "estimate" ? least : smallest(least, BigInt(2 * k));
}

/** Return the most candidates that a group can be asked about. */
export function largestDomain({ lengths, k, most_slots }: DeviceTask, [level, role]: Group): bigint {
  const most = smallest(1n << BigInt(lengths[level]!), BigInt(most_slots - 1));
  return role === "estimate" ? most : smallest(most, BigInt(2 * k));
}

function smallest(one: bigint, two: bigint): bigint {
  return one < two ? one : two;
}
