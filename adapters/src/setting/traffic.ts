/** Settings of the traffic limits of an API process, which apply before the limits of a plan. */

import { parseCidrs } from '@platen/contract/address.ts'
import { DEFAULT_TRAFFIC_LIMITS as DEFAULTS, type TrafficLimits } from '@platen/contract/api-limit.ts'
import { NETWORKS, parseInteger } from './parse.ts'
import type { SettingReader, SettingTable } from './setting.ts'

export const TRAFFIC_SETTINGS = {
  PLATEN_KEY_REFUSALS_PER_MINUTE: {
    default: `${DEFAULTS.keyRefusals}`,
    description:
      'Render requests of one API key in a minute that no limit of its plan counts: refused requests, and replays by `Idempotency-Key`. Further requests are answered 429 before they are read. 1 to 1000000, for each process.',
  },
  PLATEN_KEY_REQUESTS_PER_MINUTE: {
    default: `${DEFAULTS.keyRequests}`,
    description:
      'Other requests of one API key in a minute, such as status requests; further requests are answered 429. 1 to 1000000, for each process.',
  },
  PLATEN_KEY_BYTES_PER_MINUTE: {
    default: `${DEFAULTS.keyBytes}`,
    description:
      'Bytes of request bodies of one API key in a minute; further requests are answered 429 before they are read. 1 to 1000000000000, for each process.',
  },
  PLATEN_ADDRESS_REFUSALS_PER_MINUTE: {
    default: `${DEFAULTS.addressRefusals}`,
    description:
      'Requests of one address in a minute without a valid API key, including those for `/openapi.json`; further requests are answered 429 and not logged. 1 to 1000000, for each process.',
  },
  PLATEN_CONNECTIONS_MAX: {
    default: `${DEFAULTS.connections}`,
    description: 'Open connections at the same time; further connections are closed. 1 to 100000, for each process.',
  },
  PLATEN_TRUSTED_PROXIES: {
    default: 'none',
    description:
      'Networks of the proxies in front of the service, such as `10.1.0.0/16,fd12::/16`. For their requests, the address of the caller is taken from `X-Forwarded-For`.',
  },
} as const satisfies SettingTable

const COUNT_MAX = 1_000_000
const BYTES_MAX = 1_000_000_000_000
const CONNECTIONS_MAX = 100_000

export function readTrafficLimits({ read }: SettingReader<keyof typeof TRAFFIC_SETTINGS>): TrafficLimits {
  const count = (name: keyof typeof TRAFFIC_SETTINGS, max: number) =>
    read(name, (text) => parseInteger(text, [1, max]), `a number from 1 to ${max}`)
  const networks = (text: string) => parseCidrs(text) && text.split(',').map((each) => each.trim())
  return {
    keyRefusals: count('PLATEN_KEY_REFUSALS_PER_MINUTE', COUNT_MAX) ?? DEFAULTS.keyRefusals,
    keyRequests: count('PLATEN_KEY_REQUESTS_PER_MINUTE', COUNT_MAX) ?? DEFAULTS.keyRequests,
    keyBytes: count('PLATEN_KEY_BYTES_PER_MINUTE', BYTES_MAX) ?? DEFAULTS.keyBytes,
    addressRefusals: count('PLATEN_ADDRESS_REFUSALS_PER_MINUTE', COUNT_MAX) ?? DEFAULTS.addressRefusals,
    connections: count('PLATEN_CONNECTIONS_MAX', CONNECTIONS_MAX) ?? DEFAULTS.connections,
    trustedProxies: read('PLATEN_TRUSTED_PROXIES', networks, NETWORKS) ?? DEFAULTS.trustedProxies,
  }
}
