/** Known vulnerabilities that are lived with for a while, as nothing mends them yet or they cannot be reached here. */
import type { Advisory } from './audit.ts'

export interface Acceptance {
  /** Of the advisory. */
  readonly url: string
  /** Why it does no harm here. */
  readonly reason: string
  /** The last day it counts, as `2026-12-31`: then somebody looks again. */
  readonly until: string
}

export const ACCEPTED: readonly Acceptance[] = []

/** The advisories that have to be acted on, on a day as `2026-12-31`. */
export function toActOn(
  advisories: readonly Advisory[],
  { accepted, today }: { readonly accepted: readonly Acceptance[]; readonly today: string },
): readonly Advisory[] {
  const urls = new Set(accepted.filter(({ until }) => until >= today).map(({ url }) => url))
  return advisories.filter(({ url }) => !urls.has(url))
}
