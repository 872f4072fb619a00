/** The environment → `Config`, once, at start. All faults are reported together, naming settings and never their values. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { type Cidr, parseCidrs } from '@platen/contract/address.ts'
import type { KeyRing } from '@platen/contract/render-id.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/webhook-limit.ts'
import type { WebhookPolicy } from '@platen/contract/webhook-url.ts'

export interface Config {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly dataDir: string
  readonly manifestsDir: string
  /** Where callers reach this service; absent = the address it listens on. No trailing slash. */
  readonly publicUrl?: string
  /** Absent = generated in the data folder. */
  readonly idKeys?: KeyRing
  readonly brand: string
  /** Path of the browser to use; `none` for no html engine; absent = the one found. */
  readonly chromium?: string
  readonly webhooks: WebhookConfig
  /** Where metrics are served; absent = nowhere. 0 = any free port. */
  readonly metricsPort?: number
  /** Addresses that templates may fetch from though they are not public. */
  readonly egressAllowCidrs: readonly Cidr[]
  readonly logLevel: LogLevel
  /** Renders at once, per engine. */
  readonly renderSlots: number
}

export interface WebhookConfig {
  /** Where webhooks may go, of any tenant. */
  readonly policy: WebhookPolicy
  /** Certificates to trust beside those Node brings along, as PEM. */
  readonly ca?: string
  /** How many attempts may follow the first. */
  readonly retriesMax: number
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

interface Setting {
  /** As docs/operations.md shows it. */
  readonly default: string
  readonly description: string
}

/** Every setting there is. docs/operations.md is made from it. */
export const SETTINGS = {
  PLATEN_PORT: { default: '8080', description: 'Port to listen on; 0 takes any free one.' },
  PLATEN_HOST: { default: '127.0.0.1', description: 'Address to listen on; `0.0.0.0` for every interface.' },
  PLATEN_DATA_DIR: {
    default: './data',
    description: 'Folder of everything that must last: database, PDFs, generated keys. One process at a time.',
  },
  PLATEN_MANIFESTS_DIR: {
    default: './examples',
    description: 'Folder of the YAML manifests of plans, tenants, templates and API keys.',
  },
  PLATEN_PUBLIC_URL: {
    default: 'the listen address',
    description: 'Where callers reach this service (`https://pdf.example.com`); `pdf_url` begins with it.',
  },
  PLATEN_ID_KEYS: {
    default: 'generated in the data folder',
    description:
      'Keys of the render ids, base64url of at least 32 bytes each, separated by commas; the first signs, all verify.',
  },
  PLATEN_BRAND: {
    default: 'service',
    description: 'The word in header names (`X-Service-Render-Id`) and key prefixes (`service_live_`).',
  },
  PLATEN_CHROMIUM: {
    default: 'the one found',
    description:
      'Path of the Chromium binary that renders html, headless-shell being the quickest; `none` goes without html.',
  },
  PLATEN_WEBHOOK_ALLOW_HTTP: { default: 'false', description: 'Accept `http:` webhook URLs too, not only `https:`.' },
  PLATEN_WEBHOOK_ALLOW_CIDRS: {
    default: 'none',
    description:
      "Networks whose receivers may be called though they are not public, such as `10.1.0.0/16,fd12::/16`, by every tenant; a tenant's own are in `webhooks.allowCidrs`.",
  },
  PLATEN_WEBHOOK_CA_FILE: {
    default: 'none',
    description: 'PEM file of certificates that vouch for receivers, beside those of the public authorities.',
  },
  PLATEN_WEBHOOK_RETRIES: {
    default: `${WEBHOOK_RETRY_MS.length}`,
    description: `Attempts that may follow a first one that failed: 0 to ${WEBHOOK_RETRY_MS.length}.`,
  },
  PLATEN_METRICS_PORT: {
    default: 'none',
    description: 'Port of `/metrics` for Prometheus, on the address of `PLATEN_HOST`; 0 takes any free one.',
  },
  PLATEN_EGRESS_ALLOW_CIDRS: {
    default: 'none',
    description:
      'Networks that templates may fetch from though they are not public, such as `10.1.0.0/16,fd12::/16`; every tenant may then.',
  },
  PLATEN_LOG_LEVEL: { default: 'info', description: 'Least level logged: `debug`, `info`, `warn` or `error`.' },
  PLATEN_RENDER_SLOTS: {
    default: 'the number of cores',
    description: 'Renders at once, per engine: 1 to 64; one sync render more may always begin.',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** Settings that are wrong: `message` names each, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const ID_KEY_BYTES_MIN = 32
const RENDER_SLOTS_MAX = 64

type Environment = Readonly<Record<string, string | undefined>>

/** The value of one setting; undefined where it is absent or, which is kept as a fault, not as wanted. */
type Read = <T>(name: SettingName, parse: (text: string) => T | undefined, wanted: string) => T | undefined

const NETWORKS = 'networks such as 10.1.0.0/16, separated by commas'

/** Reads the settings. Throws `ConfigError` naming every one that is wrong. An empty value counts as absent. */
export function readConfig(env: Environment): Config {
  const faults: string[] = []
  const read: Read = (name, parse, wanted) => {
    const text = env[name]
    if (text === undefined || text === '') return undefined
    const value = parse(text)
    if (value === undefined) faults.push(`${name} must be ${wanted}`)
    return value
  }
  const publicUrl = read('PLATEN_PUBLIC_URL', parseBaseUrl, 'an http or https URL without query or fragment')
  const idKeys = read(
    'PLATEN_ID_KEYS',
    parseKeys,
    `base64url keys of at least ${ID_KEY_BYTES_MIN} bytes, separated by commas`,
  )
  const chromium = read('PLATEN_CHROMIUM', (text) => (text === 'none' ? text : resolve(text)), 'a path or none')
  const metricsPort = read(
    'PLATEN_METRICS_PORT',
    (text) => parseInteger(text, [0, 65_535]),
    'a port number from 0 to 65535',
  )
  const config: Config = {
    host: read('PLATEN_HOST', (text) => text, 'an address') ?? '127.0.0.1',
    port: read('PLATEN_PORT', (text) => parseInteger(text, [0, 65_535]), 'a port number from 0 to 65535') ?? 8080,
    dataDir: read('PLATEN_DATA_DIR', resolve, 'a path') ?? resolve('data'),
    manifestsDir: read('PLATEN_MANIFESTS_DIR', resolve, 'a path') ?? resolve('examples'),
    brand: read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    webhooks: readWebhooks(read),
    egressAllowCidrs: read('PLATEN_EGRESS_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
    logLevel: read('PLATEN_LOG_LEVEL', parseLogLevel, `one of ${LOG_LEVELS.join(', ')}`) ?? 'info',
    renderSlots:
      read('PLATEN_RENDER_SLOTS', (text) => parseInteger(text, [1, RENDER_SLOTS_MAX]), 'a number from 1 to 64') ??
      Math.min(availableParallelism(), RENDER_SLOTS_MAX),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(idKeys !== undefined && { idKeys }),
    ...(metricsPort !== undefined && { metricsPort }),
    ...(chromium !== undefined && { chromium }),
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return Object.freeze(config)
}

function readWebhooks(read: Read): WebhookConfig {
  const retriesMax = WEBHOOK_RETRY_MS.length
  const ca = read('PLATEN_WEBHOOK_CA_FILE', readCertificates, 'the path of a PEM file with certificates')
  return {
    policy: {
      isHttpAllowed: read('PLATEN_WEBHOOK_ALLOW_HTTP', parseBoolean, 'true or false') ?? false,
      allowCidrs: read('PLATEN_WEBHOOK_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
    },
    ...(ca !== undefined && { ca }),
    retriesMax:
      read(
        'PLATEN_WEBHOOK_RETRIES',
        (text) => parseInteger(text, [0, retriesMax]),
        `a number from 0 to ${retriesMax}`,
      ) ?? retriesMax,
  }
}

/** Names that look like settings and are none: most likely misspelt. */
export function unknownSettings(env: Environment): readonly string[] {
  return Object.keys(env).filter((name) => name.startsWith('PLATEN_') && !Object.hasOwn(SETTINGS, name))
}

function parseInteger(text: string, [min, max]: readonly [number, number]): number | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}

function parseBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : undefined
}

/** The certificates in a file; undefined where it cannot be read, holds none, or one that is none. */
function readCertificates(path: string): string | undefined {
  try {
    const certificates = readFileSync(path, 'latin1').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    )
    return certificates?.map((text) => new X509Certificate(text).toString()).join('')
  } catch {
    return undefined
  }
}

function parseLogLevel(text: string): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === text)
}

function parseBrand(text: string): string | undefined {
  return /^[a-z]{1,32}$/.test(text) ? text : undefined
}

function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBase = url !== undefined && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  return isBase ? url.href.replace(/\/+$/, '') : undefined
}

function parseKeys(text: string): KeyRing | undefined {
  const keys: Uint8Array[] = []
  for (const part of text.split(',')) {
    const key = Buffer.from(part, 'base64url')
    if (!/^[A-Za-z0-9_-]+$/.test(part) || key.byteLength < ID_KEY_BYTES_MIN) return undefined
    keys.push(key)
  }
  const [first, ...rest] = keys
  return first === undefined ? undefined : [first, ...rest]
}
