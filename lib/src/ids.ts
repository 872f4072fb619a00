export interface Ids {
  /** From a cryptographic source. */
  random(bytes: number): Uint8Array
}
