/** Setting of the key that encrypts webhook secrets in transit. */
import type { SealKey } from '@platen/contract/seal.ts'
import type { SettingReader, SettingTable } from './setting.ts'

/** The setting of processes that seal or open webhook secrets. */
export const SEAL_SETTINGS = {
  PLATEN_SEAL_KEY: {
    default: 'required',
    description:
      'Key that seals webhook secrets, base64 of 32 bytes (`openssl rand -base64 32`); the same for the processes that publish them and those that sign webhooks.',
  },
} as const satisfies SettingTable

const KEY_BYTES = 32

/** Reads the key. */
export function readSealKey({ require }: SettingReader<keyof typeof SEAL_SETTINGS>): SealKey | undefined {
  return require('PLATEN_SEAL_KEY', parseSealKey, `base64 of ${KEY_BYTES} bytes, as openssl rand -base64 ${KEY_BYTES} prints it`)
}

function parseSealKey(text: string): SealKey | undefined {
  const key = Buffer.from(text, 'base64')
  const isBase64 = /^[A-Za-z0-9+/]{43}=?$/.test(text)
  return isBase64 && key.byteLength === KEY_BYTES ? key : undefined
}
