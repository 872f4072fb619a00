/** Settings of the traffic limits of an API process, which apply before the limits of a plan. */
import { DEFAULT_TRAFFIC_LIMITS as DEFAULTS } from '@platen/contract/api-limit.ts'
import { type Format, integer, NETWORKS } from './format.ts'
import { setting, table } from './setting.ts'

const COUNT = integer([1, 1_000_000])
const BYTES = integer([1, 1_000_000_000_000])
const CONNECTIONS = integer([1, 100_000])

const PROXIES: Format<readonly string[]> = {
  ...NETWORKS,
  parse: (text) => NETWORKS.parse(text) && text.split(',').map((each) => each.trim()),
}

export const TRAFFIC_SETTINGS = table({
  keyRefusals: setting('PLATEN_KEY_REFUSALS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.keyRefusals}`,
    description: `Requests for renders of one API key in a minute that no limit of its plan counts: refused ones, and replays by \`Idempotency-Key\`. What is beyond that is answered 429 before it is read. ${COUNT.range}, of each process.`,
  }),
  keyRequests: setting('PLATEN_KEY_REQUESTS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.keyRequests}`,
    description: `Other requests of one API key in a minute, such as those for the state of a render; past it they are answered 429. ${COUNT.range}, of each process.`,
  }),
  keyBytes: setting('PLATEN_KEY_BYTES_PER_MINUTE', BYTES, {
    default: `${DEFAULTS.keyBytes}`,
    description: `Bytes of request bodies of one API key in a minute; past it they are answered 429 before they are read. ${BYTES.range}, of each process.`,
  }),
  addressRefusals: setting('PLATEN_ADDRESS_REFUSALS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.addressRefusals}`,
    description: `Requests of one address in a minute that show no good key, be they refused or for \`/openapi.json\`; what is beyond that is answered 429 and not logged. ${COUNT.range}, of each process.`,
  }),
  connections: setting('PLATEN_CONNECTIONS_MAX', CONNECTIONS, {
    default: `${DEFAULTS.connections}`,
    description: `Connections at once; those beyond are closed. ${CONNECTIONS.range}, of each process.`,
  }),
  trustedProxies: setting('PLATEN_TRUSTED_PROXIES', PROXIES, {
    default: 'none',
    absent: () => DEFAULTS.trustedProxies,
    description:
      'Networks of the proxies before the service, such as `10.1.0.0/16,fd12::/16`: of their requests the address is what they say in `X-Forwarded-For`.',
  }),
})
