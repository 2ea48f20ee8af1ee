/** What the server signs: tasks, campaigns, beacons and candidate lists. One form for all: a kind, a content, a signature. */

import { fromHex, fromUtf8, joined, utf8 } from "../bytes.js";
import { check } from "../errors.js";
import { checkTexts, readTask, type DeviceTask } from "./task.js";

const SIGNED_DOMAIN = "treetop signed 1\0";

/** The server's public keys, as a device has pinned them: returns whether one of them signed the message. */
export type Verifier = (message: Uint8Array, signature: Uint8Array) => Promise<boolean>;

/** Return the content of a document that a pinned key signed. */
export async function checkedContent(kind: "task" | "campaign" | "beacon" | "list", document: Uint8Array, verifies: Verifier): Promise<Uint8Array> {
  const parts = parsed(document);
  const { content } = parts;
  const signature = fromHex(parts["signature"]);
  const known = typeof content === "string" && /^[\0-\x7f]*$/.test(content) && signature !== null &&
    Object.keys(parts).sort().join() === "content,kind,signature";
  check(known, "peer", "signed document", "kind, content and signature");
  check(parts["kind"] === kind, "peer", "kind of a signed document", kind, parts["kind"]);
  const bytes = utf8(content);
  const signed = await verifies(joined(utf8(`${SIGNED_DOMAIN}${kind}\0`), bytes), signature);
  check(signed, "peer", "signature", "one of a pinned key", "none");
  return bytes;
}

export async function checkedTask(document: Uint8Array, verifies: Verifier): Promise<DeviceTask> {
  return readableTask(await checkedContent("task", document, verifies));
}

/** Return a task whose texts people can read. */
export async function readableTask(content: Uint8Array): Promise<DeviceTask> {
  const task = await readTask(content);
  checkTexts(task);
  return task;
}

/** Return the fields of a JSON object; of anything else none. */
export function parsed(document: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(fromUtf8(document)!) as object) };
  } catch {
    return {};
  }
}
