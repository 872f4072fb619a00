/** Reads the configuration of an operator from the environment, once, at start. */
import { hostname } from 'node:os'
import { REDIS_SETTINGS, readRedisSettings } from '@platen/adapters/setting/connection/redis.ts'
import { readS3Settings, S3_SETTINGS, type S3Settings } from '@platen/adapters/setting/connection/s3.ts'
import { parseBrand } from '@platen/adapters/setting/parse.ts'
import { PROCESS_SETTINGS, type ProcessSettings, readProcessSettings } from '@platen/adapters/setting/process.ts'
import { readSealKey, SEAL_SETTINGS } from '@platen/adapters/setting/seal.ts'
import {
  readSettings,
  type SettingReader,
  type SettingTable,
  type Variables,
} from '@platen/adapters/setting/setting.ts'
import type { SealKey } from '@platen/contract/seal.ts'

/** The settings of an operator. docs/operations.md is generated from it. */
export const SETTINGS = {
  PLATEN_BRAND: {
    default: 'service',
    description: 'First word of the prefix of generated API keys (`service_live_`).',
  },
  PLATEN_NAMESPACE: {
    default: 'platen',
    description: 'Namespace of the operator, of its Lease and of the webhook secrets that it generates.',
  },
  PLATEN_INSTANCE: {
    default: 'the name of the host',
    description: 'Name of this process in the Lease and in events; in a pod, the name of the pod.',
  },
  PLATEN_KUBECONFIG: {
    default: 'none',
    description:
      'Path of a kubeconfig. If not set, `KUBECONFIG`, `~/.kube/config` or the service account of the pod is used.',
  },
  ...SEAL_SETTINGS,
  ...PROCESS_SETTINGS,
  ...REDIS_SETTINGS,
  ...S3_SETTINGS,
} as const satisfies SettingTable

export interface Config extends ProcessSettings {
  readonly brand: string
  readonly namespace: string
  readonly instance: string
  readonly kubeconfig: string | undefined
  readonly sealKey: SealKey
  readonly redis: NonNullable<ReturnType<typeof readRedisSettings>>
  readonly s3: S3Settings
}

/** Reads the settings. Throws `ConfigError`, which names every invalid setting. */
export function readConfig(variables: Variables): Config {
  return readSettings(variables, configIn)
}

const NAME = 'a name of Kubernetes: small letters, digits and dashes, at most 63'

function configIn(reader: SettingReader<keyof typeof SETTINGS>): Config | undefined {
  const [redis, s3, sealKey] = [readRedisSettings(reader), readS3Settings(reader), readSealKey(reader)]
  const others = {
    ...readProcessSettings(reader),
    brand: reader.read('PLATEN_BRAND', parseBrand, 'a word of small letters, at most 32') ?? 'service',
    namespace: reader.read('PLATEN_NAMESPACE', parseName, NAME) ?? 'platen',
    instance: reader.read('PLATEN_INSTANCE', parseInstance, 'a name, at most 253 characters') ?? hostname(),
    kubeconfig: reader.read('PLATEN_KUBECONFIG', (text) => text, 'a path'),
  }
  return redis && s3 && sealKey && { ...others, redis, s3, sealKey }
}

function parseName(text: string): string | undefined {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text) ? text : undefined
}

function parseInstance(text: string): string | undefined {
  return /^[\w.-]{1,253}$/.test(text) ? text : undefined
}
