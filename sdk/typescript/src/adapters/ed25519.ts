/** The server's public keys as a device has pinned them; signatures are checked by WebCrypto. */

import { digestBytes } from "../bytes.js";
import { check, TreetopError } from "../errors.js";
import type { Verifier } from "../wire/signedDocuments.js";

const SIGNATURE_BYTES = 64;
/** Points whose order divides 8, two of them by their beginning: anybody can sign for such a key. 64 zeros are one. */
const SMALL_ORDER = /^(0[01]0{60}[08]0|e[c-e]f{60}[7f]f|26e8958fc2b227b0|c7176a703d4dd84f)/;

export function pinnedKeys(keys: readonly string[]): Verifier {
  const known = keys.map((key) => digestBytes(key) as Uint8Array<ArrayBuffer>);
  check(known.length > 0 && known.every(Boolean) && !keys.some((key) => SMALL_ORDER.test(key)), "input", "public keys of the server", "64 hexadecimal digits each");
  return async (message, signature) => {
    const { subtle } = crypto as { subtle?: SubtleCrypto };
    check(subtle !== undefined, "input", "page", "one on https, or on this machine");
    for (const raw of signature.length === SIGNATURE_BYTES ? known : []) {
      try {
        const key = await subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
        if (await subtle.verify("Ed25519", key, signature as BufferSource, message as BufferSource)) return true;
      } catch (error) {
        if ((error as Error).name !== "NotSupportedError") continue; // no point of the curve: it signed nothing
        throw new TreetopError("input", "this browser is too old to check Ed25519 signatures");
      }
    }
    return false;
  };
}
