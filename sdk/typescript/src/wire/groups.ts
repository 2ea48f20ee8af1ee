/** Groups of users: one level of the trie, and what they are asked there. */

export const ROLES = ["estimate", "validate infrequent", "validate frequent"] as const;
export type Role = (typeof ROLES)[number];
export type Group = readonly [level: number, role: Role];

/** The words for a group; equal groups have equal words. */
export function groupText([level, role]: Group): string {
  return `level ${level} (${role})`;
}
