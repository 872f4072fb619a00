/** Settings of webhooks. */
import { parseCidrs } from '@platen/contract/address.ts'
import { WEBHOOK_RETRY_MS } from '@platen/contract/webhook-limit.ts'
import type { WebhookPolicy } from '@platen/contract/webhook-url.ts'
import { CERTIFICATES, NETWORKS, parseBoolean, parseInteger, readCertificates } from './parse.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The settings of processes that check receiver URLs: those that accept them, and those that call them. */
export const WEBHOOK_POLICY_SETTINGS = {
  PLATEN_WEBHOOK_ALLOW_HTTP: { default: 'false', description: 'Accept `http:` webhook URLs too, not only `https:`.' },
  PLATEN_WEBHOOK_ALLOW_CIDRS: {
    default: 'none',
    description:
      'Private networks in which the receivers of all tenants may be, such as `10.1.0.0/16,fd12::/16`; `webhooks.allowCidrs` adds networks for one tenant.',
  },
} as const satisfies SettingTable

/** The settings of processes that call receivers. */
export const WEBHOOK_SETTINGS = {
  ...WEBHOOK_POLICY_SETTINGS,
  PLATEN_WEBHOOK_CA_FILE: {
    default: 'none',
    description: 'PEM file of CA certificates to trust for receivers, in addition to the public authorities.',
  },
  PLATEN_WEBHOOK_RETRIES: {
    default: `${WEBHOOK_RETRY_MS.length}`,
    description: `Retries after a failed first attempt: 0 to ${WEBHOOK_RETRY_MS.length}.`,
  },
} as const satisfies SettingTable

export interface WebhookSettings {
  /** Which receivers may be called, for every tenant. */
  readonly policy: WebhookPolicy
  /** Certificates to trust in addition to those of Node, as PEM. */
  readonly ca?: string
  /** Maximum number of attempts after the first. */
  readonly retriesMax: number
}

/** Reads which receivers may be called. */
export function readWebhookPolicy({ read }: SettingReader<keyof typeof WEBHOOK_POLICY_SETTINGS>): WebhookPolicy {
  return {
    isHttpAllowed: read('PLATEN_WEBHOOK_ALLOW_HTTP', parseBoolean, 'true or false') ?? false,
    allowCidrs: read('PLATEN_WEBHOOK_ALLOW_CIDRS', parseCidrs, NETWORKS) ?? [],
  }
}

/** Reads which receivers may be called, and how. */
export function readWebhookSettings(reader: SettingReader<keyof typeof WEBHOOK_SETTINGS>): WebhookSettings {
  const { read } = reader
  const most = WEBHOOK_RETRY_MS.length
  const ca = read('PLATEN_WEBHOOK_CA_FILE', readCertificates, CERTIFICATES)
  const retries = read('PLATEN_WEBHOOK_RETRIES', (text) => parseInteger(text, [0, most]), `a number from 0 to ${most}`)
  return { policy: readWebhookPolicy(reader), ...(ca !== undefined && { ca }), retriesMax: retries ?? most }
}
