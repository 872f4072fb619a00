/** Randomness. */
export interface Ids {
  /** Random bytes from a cryptographic source. */
  random(bytes: number): Uint8Array
}
