/**
 * The one error that every port may throw besides its own. The service behind the port cannot be reached or did not answer. It is unknown
 * whether the call took effect.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}
