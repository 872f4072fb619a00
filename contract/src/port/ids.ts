/** Chance. */
export interface Ids {
  /** Bytes from a cryptographic source. */
  random(bytes: number): Uint8Array
}
