/** The one error every port may throw besides its own: what stands behind it cannot be reached or did not answer, and whether the call took effect is unknown. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}
