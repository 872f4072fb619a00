/** Assets that are page JavaScript for the html source. Pure. */
import { ServiceError } from '@platen/contract/domain/error.ts'

/** Bytes of one script. bwip-js has 1.1 MiB, Chart.js and KaTeX have a quarter of that each. */
export const SCRIPT_BYTES_MAX = 2 * 1024 * 1024

/** Only the name tells: JavaScript has no special first bytes. */
export function isScriptName(name: string): boolean {
  return /\.m?js$/i.test(name)
}

/** Throws `asset_unavailable` if these bytes cannot be a script. Whether it runs is known when it runs. */
export function checkScript(bytes: Uint8Array): void {
  if (bytes.byteLength > SCRIPT_BYTES_MAX) {
    throw refusal(`the script has ${bytes.byteLength} bytes; at most ${SCRIPT_BYTES_MAX} are allowed`)
  }
  try {
    // A private copy: the bytes may be shared memory, which cannot be decoded to text.
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes))
  } catch (cause) {
    throw refusal('the name says a script, but this is not UTF-8 text', cause)
  }
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', reason, { cause })
}
