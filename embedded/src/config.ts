/** The environment → `Config`, once, at start. All faults are reported together, naming settings and never their values. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import {
  CERTIFICATES,
  KEY_RING,
  LOG_LEVEL,
  type LogLevel,
  parseBaseUrl,
  parseBoolean,
  parseBrand,
  parseInteger,
  parseKeyRing,
  parseLogLevel,
  readCertificates,
} from '@platen/adapters/setting/parse.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
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
} as const satisfies SettingTable

type Reader = SettingReader<keyof typeof SETTINGS>

const RENDER_SLOTS_MAX = 64

const NETWORKS = 'networks such as 10.1.0.0/16, separated by commas'
const PORT = 'a port number from 0 to 65535'

/** Reads the settings. Throws `ConfigError` naming every one that is wrong. */
export function readConfig(variables: Variables): Config {
  return Object.freeze(readSettings(variables, configIn))
}

function configIn(reader: Reader): Config {
  const { read } = reader
  const publicUrl = read('PLATEN_PUBLIC_URL', parseBaseUrl, 'an http or https URL without query or fragment')
  const idKeys = read('PLATEN_ID_KEYS', parseKeyRing, KEY_RING)
  const chromium = read('PLATEN_CHROMIUM', (text) => (text === 'none' ? text : resolve(text)), 'a path or none')
  const metricsPort = read('PLATEN_METRICS_PORT', parsePort, PORT)
  return {
    host: read('PLATEN_HOST', (text) => text, 'an address') ?? '127.0.0.1',
    port: read('PLATEN_PORT', parsePort, PORT) ?? 8080,
    dataDir: read('PLATEN_DATA_DIR', resolve, 'a path') ?? resolve('data'),
    manifestsDir: read('PLATEN_MANIFESTS_DIR', resolve, 'a path') ?? resolve('examples'),
    brand: read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    webhooks: readWebhooks(reader),
    egressAllowCidrs: read('PLATEN_EGRESS_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
    logLevel: read('PLATEN_LOG_LEVEL', parseLogLevel, LOG_LEVEL) ?? 'info',
    renderSlots:
      read('PLATEN_RENDER_SLOTS', (text) => parseInteger(text, [1, RENDER_SLOTS_MAX]), 'a number from 1 to 64') ??
      Math.min(availableParallelism(), RENDER_SLOTS_MAX),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(idKeys !== undefined && { idKeys }),
    ...(metricsPort !== undefined && { metricsPort }),
    ...(chromium !== undefined && { chromium }),
  }
}

function parsePort(text: string): number | undefined {
  return parseInteger(text, [0, 65_535])
}

function readWebhooks({ read }: Reader): WebhookConfig {
  const retriesMax = WEBHOOK_RETRY_MS.length
  const ca = read('PLATEN_WEBHOOK_CA_FILE', readCertificates, CERTIFICATES)
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
