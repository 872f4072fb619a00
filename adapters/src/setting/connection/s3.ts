/** Settings of S3. The SDK finds credentials in the environment, in files, or by the identity of the pod. */
import type { S3Options } from '../../s3/connect.ts'
import { isKeyPrefix, type S3Namespace } from '../../s3/namespace.ts'
import { parseBaseUrl, parseBoolean } from '../parse.ts'
import type { SettingReader, SettingTable } from '../setting.ts'

/** The settings of processes that use S3. */
export const S3_SETTINGS = {
  PLATEN_S3_ENDPOINT: {
    default: "Amazon's endpoint of the region",
    description: 'URL at which the service reaches S3, such as `http://minio.storage:9000`.',
  },
  PLATEN_S3_PUBLIC_ENDPOINT: {
    default: '`PLATEN_S3_ENDPOINT`',
    description: 'URL at which callers reach S3, such as `https://files.example.com`; `pdf_url` begins with it.',
  },
  PLATEN_S3_REGION: { default: 'us-east-1', description: 'The region that requests are signed for.' },
  PLATEN_S3_BUCKET: {
    default: 'required',
    description: 'Bucket for manifests, templates and the PDFs of tenants without a bucket of their own.',
  },
  PLATEN_S3_PREFIX: {
    default: 'none',
    description: 'Prefix of every key, such as `platen/`, for a shared bucket.',
  },
  PLATEN_S3_PATH_STYLE: {
    default: 'false',
    description: 'Put the bucket in the path instead of the host name; most stores other than Amazon’s need this.',
  },
  PLATEN_INSTALLATION: {
    default: 'platen',
    description:
      'Name of this installation, the same for all its processes; the first process claims the prefix in S3 for it.',
  },
} as const satisfies SettingTable

/** The settings that `openS3ArtifactStore` needs. */
export interface S3Settings extends S3Options {
  readonly namespace: S3Namespace
}

const REGION_DEFAULT = 'us-east-1'
const INSTALLATION_DEFAULT = 'platen'
const ENDPOINT = 'an http or https URL without query or fragment'

/** Reads the settings of S3 and of the installation's namespace in it. */
export function readS3Settings({ read, require }: SettingReader<keyof typeof S3_SETTINGS>): S3Settings | undefined {
  const endpoint = read('PLATEN_S3_ENDPOINT', parseBaseUrl, ENDPOINT)
  const publicEndpoint = read('PLATEN_S3_PUBLIC_ENDPOINT', parseBaseUrl, ENDPOINT)
  const region = read('PLATEN_S3_REGION', parseName, 'the name of a region') ?? REGION_DEFAULT
  const isPathStyle = read('PLATEN_S3_PATH_STYLE', parseBoolean, 'true or false') ?? false
  const bucket = require('PLATEN_S3_BUCKET', parseBucket, 'the name of a bucket: 3 to 63 small letters, digits, dots and dashes')
  const prefix =
    read(
      'PLATEN_S3_PREFIX',
      parsePrefix,
      'names of letters, digits, dots, dashes and underscores, each followed by a slash',
    ) ?? ''
  const installation =
    read('PLATEN_INSTALLATION', parseName, 'a name of small letters, digits and dashes, at most 63') ??
    INSTALLATION_DEFAULT
  if (bucket === undefined) return undefined
  const namespace = { bucket, prefix, installation }
  return { region, isPathStyle, namespace, ...(endpoint && { endpoint }), ...(publicEndpoint && { publicEndpoint }) }
}

function parseName(text: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? text : undefined
}

function parseBucket(text: string): string | undefined {
  return /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) ? text : undefined
}

/** Accepts a prefix without its last slash, which is easy to forget. */
function parsePrefix(text: string): string | undefined {
  const prefix = text.endsWith('/') ? text : `${text}/`
  return isKeyPrefix(prefix) ? prefix : undefined
}
