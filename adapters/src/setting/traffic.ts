/** Settings of the traffic limits of an API process, which apply before the limits of a plan. */
import { type Format, integer, NETWORKS } from './format.ts'
import { DEFAULT_TRAFFIC_LIMITS as DEFAULTS } from './limit.ts'
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
    description: `Render requests of one API key in a minute that no limit of its plan counts: refused requests, and replays by \`Idempotency-Key\`. Further requests are answered 429 before they are read. ${COUNT.range}, for each process.`,
  }),
  keyRequests: setting('PLATEN_KEY_REQUESTS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.keyRequests}`,
    description: `Other requests of one API key in a minute, such as status requests; further requests are answered 429. ${COUNT.range}, for each process.`,
  }),
  keyBytes: setting('PLATEN_KEY_BYTES_PER_MINUTE', BYTES, {
    default: `${DEFAULTS.keyBytes}`,
    description: `Bytes of request bodies of one API key in a minute; further requests are answered 429 before they are read. ${BYTES.range}, for each process.`,
  }),
  addressRefusals: setting('PLATEN_ADDRESS_REFUSALS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.addressRefusals}`,
    description: `Requests of one address in a minute without a valid API key, including those for \`/openapi.json\` and \`/docs\`; further requests are answered 429 and not logged. ${COUNT.range}, for each process.`,
  }),
  connections: setting('PLATEN_CONNECTIONS_MAX', CONNECTIONS, {
    default: `${DEFAULTS.connections}`,
    description: `Open connections at the same time; further connections are closed. ${CONNECTIONS.range}, for each process.`,
  }),
  trustedProxies: setting('PLATEN_TRUSTED_PROXIES', PROXIES, {
    default: 'none',
    absent: () => DEFAULTS.trustedProxies,
    description:
      'Networks of the proxies in front of the service, such as `10.1.0.0/16,fd12::/16`. For their requests, the address of the caller is taken from `X-Forwarded-For`.',
  }),
})
