/** What the server signs: tasks, campaigns, beacons and candidate lists. One form for all: a kind, a content, a signature. */

import { fromHex, joined, utf8 } from "../bytes.js";
import { ASCII, hexBytes, need, parsed, READABLE, record } from "./documents.js";
import { readTask, type DeviceTask } from "./task.js";

const SIGNED_DOMAIN = "treetop signed 1\0";
const ENVELOPE = record({ content: ASCII, kind: READABLE, signature: hexBytes(1) });

/** The server's public keys, as a device has pinned them: returns whether one of them signed the message. */
export type Verifier = (message: Uint8Array, signature: Uint8Array) => Promise<boolean>;

/** Return the content of a document that a pinned key signed. */
export async function checkedContent(kind: "task" | "campaign" | "beacon" | "list", document: Uint8Array, verifies: Verifier): Promise<Uint8Array> {
  const parts = parsed(document, kind) as Record<"content" | "kind" | "signature", string>;
  ENVELOPE(parts, kind);
  need(parts.kind === kind, "signature", `kind of a ${kind}`);
  const content = utf8(parts.content);
  const signed = await verifies(joined(utf8(`${SIGNED_DOMAIN}${kind}\0`), content), fromHex(parts.signature)!);
  need(signed, "signature", `signature: expected one of a pinned key`);
  return content;
}

export async function checkedTask(document: Uint8Array, verifies: Verifier): Promise<DeviceTask> {
  return readTask(await checkedContent("task", document, verifies));
}
