/**
 * Any port may throw this error besides its own. The service behind the port cannot be reached or did not answer; it is unknown whether the
 * call took effect.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}
