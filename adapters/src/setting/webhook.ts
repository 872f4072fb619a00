import { BOOLEAN, CERTIFICATES, type Format, NETWORKS, ringOf } from './format.ts'
import { optional, setting, table } from './setting.ts'

/** For processes that check receiver URLs for every tenant: those that accept them, and those that call them. */
export const WEBHOOK_POLICY_SETTINGS = table({
  isHttpAllowed: setting('PLATEN_WEBHOOK_ALLOW_HTTP', BOOLEAN, {
    default: 'false',
    description: 'Accept `http:` webhook URLs too, not only `https:`.',
  }),
  allowCidrs: setting('PLATEN_WEBHOOK_ALLOW_CIDRS', NETWORKS, {
    default: 'none',
    absent: () => [],
    description:
      'Private networks in which the receivers of all tenants may be, such as `10.1.0.0/16,fd12::/16`; `webhooks.allowCidrs` adds networks for one tenant.',
  }),
})

/** For processes that call receivers. */
export const WEBHOOK_SETTINGS = table({
  policy: WEBHOOK_POLICY_SETTINGS,
  ca: optional('PLATEN_WEBHOOK_CA_FILE', CERTIFICATES, {
    default: 'none',
    description: 'PEM file of CA certificates to trust for receivers, in addition to the public authorities.',
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

/** For processes that seal or open webhook secrets. */
export const SEAL_KEYS_SETTING = setting('PLATEN_SEAL_KEY', ringOf(SEAL_KEY, SEAL_KEY.wanted), {
  description: `Keys that seal webhook secrets, base64 of ${SEAL_KEY_BYTES} bytes each (\`openssl rand -base64 ${SEAL_KEY_BYTES}\`), separated by commas; the first seals, all open. The same for the processes that publish the secrets and those that sign webhooks.`,
  isSecret: true,
})
