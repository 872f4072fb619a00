import type { TrafficLimits } from '@platen/contract/domain/limit.ts'
import { type Format, integer, NETWORKS } from './format.ts'
import { DEFAULT_TRAFFIC_LIMITS as DEFAULTS } from './limit.ts'
import { mapped, setting, table } from './setting.ts'

const COUNT = integer([1, 1_000_000])

const PROXIES: Format<readonly string[]> = {
  ...NETWORKS,
  parse: (text) => NETWORKS.parse(text) && text.split(',').map((each) => each.trim()),
}

const TABLE = table({
  refusals: setting('PLATEN_REFUSALS_PER_MINUTE', COUNT, {
    default: `${DEFAULTS.keyRefusals}`,
    description: `Requests in a minute that no limit of a plan counts. Of one API key: render requests that are refused, and replays by \`Idempotency-Key\`; further ones are answered 429 before they are read. Of one address: requests without a valid API key, including those for \`/openapi.json\` and \`/docs\`; further ones are answered 429 and not logged. ${COUNT.range}, for each process.`,
  }),
  trustedProxies: setting('PLATEN_TRUSTED_PROXIES', PROXIES, {
    default: 'none',
    absent: () => DEFAULTS.trustedProxies,
    description:
      'Networks of the proxies in front of the service, such as `10.1.0.0/16,fd12::/16`. For their requests, the address of the caller is taken from `X-Forwarded-For`.',
  }),
})

export const TRAFFIC_SETTINGS = mapped(TABLE, ({ refusals, trustedProxies }): TrafficLimits => {
  return { ...DEFAULTS, keyRefusals: refusals, addressRefusals: refusals, trustedProxies }
})
