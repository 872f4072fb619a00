/** Names → addresses, in a way that nobody's name server can hold up. */
import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isInternalName } from '@platen/contract/webhook-url.ts'

/** How long the first question waits for its answer, and how often it is put: with c-ares' growing waits, 6 s in all. */
const DNS_TIMEOUT_MS = 2000
const DNS_TRIES = 2

/**
 * All addresses of a name. Rejects with Node's code where it has none. Names of the public DNS are asked of its servers without a
 * thread: the system's resolver has room for two look-ups at a time in a process, and two names whose servers never answer keep
 * everybody else's waiting for 10 s. Names of an inner network, whose zones are no tenant's, may stand in files and below search
 * domains that only the system knows.
 */
export async function resolveName(host: string): Promise<readonly LookupAddress[]> {
  if (isInternalName(host)) return lookup(host, { all: true })
  // Made for each name, as the system's settings may have changed.
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

/** That a question got no answer says more than that there is no address of the other kind. */
function reasonOf(answers: readonly Lookup[]): unknown {
  const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  return reasons.find(({ code }) => code !== 'ENODATA' && code !== 'ENOTFOUND') ?? reasons[0]
}
