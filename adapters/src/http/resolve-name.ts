import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isInternalName } from '@platen/contract/domain/webhook-url.ts'

/** The wait for the first answer, and the number of tries. With the growing waits of c-ares: 6 s in total. */
const DNS_TIMEOUT_MS = 2000
const DNS_TRIES = 2

/**
 * Returns all addresses of a name. Rejects with Node's error code when there is none.
 *
 * Public names are asked of the DNS servers directly, without a thread. The resolver of the system does only two look-ups at a time per
 * process: two names whose servers never answer would delay all others for 10 s. Internal names use the system's resolver: their zones
 * belong to no tenant, and only the system knows its files and search domains.
 */
export async function resolveName(host: string): Promise<readonly LookupAddress[]> {
  if (isInternalName(host)) return lookup(host, { all: true })
  // A new one for each name, as the system's settings may have changed.
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [...addresses(four, 4), ...addresses(six, 6)]
  if (found.length > 0) return found
  throw reasonOf([four, six])
}

type Lookup = PromiseSettledResult<string[]>

function addresses(answer: Lookup, family: 4 | 6): readonly LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}

/** Prefers a failed query to "no address of this kind", which says less. */
function reasonOf(answers: readonly Lookup[]): unknown {
  const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  return reasons.find(({ code }) => code !== 'ENODATA' && code !== 'ENOTFOUND') ?? reasons[0]
}
