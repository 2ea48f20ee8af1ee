/** Groups of users: one level of the trie, and what they are asked there. */

import { oneOf, whole } from "./documents.js";

export const ROLES = ["estimate", "validate infrequent", "validate frequent"] as const;
export type Role = (typeof ROLES)[number];
export type Group = readonly [level: number, role: Role];

export const LONGEST_CODE = 256;
export const LEVEL = whole(1, LONGEST_CODE);
export const ROLE = oneOf(ROLES);

/** The words for a group; equal groups have equal words. */
export function groupText([level, role]: Group): string {
  return `level ${level} (${role})`;
}
