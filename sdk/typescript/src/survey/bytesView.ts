/** The very bytes of a report, part by part, for whoever wants to see what leaves the device. */

import { hex } from "../bytes.js";
import { groupText } from "../wire/groups.js";
import { decodedBatch, ENVELOPE_BYTES } from "../wire/readBatches.js";
import { oracleTagged } from "../oracles/registry.js";
import { html } from "./dom.js";

export function bytesView(report: Uint8Array): HTMLElement {
  const { envelope, bodies: [body] } = decodedBatch(report);
  const rows: readonly (readonly [string, number, number, string])[] = [
    ["Format", 0, 1, "version 1"],
    ["Task", 1, 33, "the digest of what was asked: the same for everybody"],
    ["Group", 33, 36, `${groupText(envelope.group)}: drawn before your answer was read`],
    ["List", 36, 68, "the candidates that were asked about; zeros where there is no list"],
    ["Method", 68, 73, `${oracleTagged(envelope.tag)!.name} with ${envelope.slots} outcomes`],
    ["Count", 73, ENVELOPE_BYTES, "one report"],
    ["Report", ENVELOPE_BYTES, report.length, `${body!.length} bytes, randomised: the only part that depends on your answer`],
  ];
  return html("table", { class: "bytes" },
    html("caption", {}, `These ${report.length} bytes are sent, with your ticket, and the same again if they get lost.`),
    html("tbody", {}, ...rows.map(([name, start, end, says]) =>
      html("tr", { class: name === "Report" ? "body" : "" },
        html("th", { scope: "row" }, name),
        html("td", {}, html("code", {}, hex(report.slice(start, end))), html("span", {}, says))))));
}
