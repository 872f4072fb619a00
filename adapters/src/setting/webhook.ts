/** Settings of webhooks. */
import { WEBHOOK_RETRY_MS } from '@platen/contract/webhook-limit.ts'
import { BOOLEAN, CERTIFICATES, type Format, integer, NETWORKS } from './format.ts'
import { optional, setting, table } from './setting.ts'

/** The settings of processes that check receiver URLs for every tenant: those that accept them, and those that call them. */
export const WEBHOOK_POLICY_SETTINGS = table({
  isHttpAllowed: setting('PLATEN_WEBHOOK_ALLOW_HTTP', BOOLEAN, {
    default: 'false',
    description: 'Accept `http:` webhook URLs too, not only `https:`.',
  }),
  allowCidrs: setting('PLATEN_WEBHOOK_ALLOW_CIDRS', NETWORKS, {
    default: 'none',
    absent: () => [],
    description:
      "Networks whose receivers may be called though they are not public, such as `10.1.0.0/16,fd12::/16`, by every tenant; a tenant's own are in `webhooks.allowCidrs`.",
  }),
})

const RETRIES = integer([0, WEBHOOK_RETRY_MS.length])

/** The settings of processes that call receivers. */
export const WEBHOOK_SETTINGS = table({
  policy: WEBHOOK_POLICY_SETTINGS,
  ca: optional('PLATEN_WEBHOOK_CA_FILE', CERTIFICATES, {
    default: 'none',
    description: 'PEM file of certificates that vouch for receivers, beside those of the public authorities.',
  }),
  retriesMax: setting('PLATEN_WEBHOOK_RETRIES', RETRIES, {
    default: `${WEBHOOK_RETRY_MS.length}`,
    description: `Attempts that may follow a first one that failed: ${RETRIES.range}.`,
  }),
})

const SEAL_KEY_BYTES = 32

const SEAL_KEY: Format<Uint8Array> = {
  wanted: `base64 of ${SEAL_KEY_BYTES} bytes, as openssl rand -base64 ${SEAL_KEY_BYTES} prints it`,
  parse(text) {
    const key = Buffer.from(text, 'base64')
    return /^[A-Za-z0-9+/]{43}=?$/.test(text) && key.byteLength === SEAL_KEY_BYTES ? key : undefined
  },
}

/** The setting of processes that seal or open webhook secrets. */
export const SEAL_KEY_SETTING = setting('PLATEN_SEAL_KEY', SEAL_KEY, {
  description: `The key that seals webhook secrets, base64 of ${SEAL_KEY_BYTES} bytes (\`openssl rand -base64 ${SEAL_KEY_BYTES}\`); the same where they are published and where webhooks are signed.`,
  isSecret: true,
})
