/** Settings of S3. The SDK finds credentials in the environment, in files, or by the identity of the pod. */
import { isKeyPrefix } from '../../s3/namespace.ts'
import { BASE_URL, BOOLEAN, type Format, matching } from '../format.ts'
import { mapped, optional, setting, table } from '../setting.ts'

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const REGION = matching(NAME, 'the name of a region')
const INSTALLATION = matching(NAME, 'a name of small letters, digits and dashes, at most 63')
const BUCKET = matching(
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  'the name of a bucket: 3 to 63 small letters, digits, dots and dashes',
)

/** Its last slash is easy to forget, and not required. */
const KEY_PREFIX: Format<string> = {
  wanted: 'names of letters, digits, dots, dashes and underscores, each followed by a slash',
  parse(text) {
    const prefix = text.endsWith('/') ? text : `${text}/`
    return isKeyPrefix(prefix) ? prefix : undefined
  },
}

const TABLE = table({
  endpoint: optional('PLATEN_S3_ENDPOINT', BASE_URL, {
    default: "Amazon's of the region",
    description: 'Where S3 is reached from inside: `http://minio.storage:9000`.',
  }),
  publicEndpoint: optional('PLATEN_S3_PUBLIC_ENDPOINT', BASE_URL, {
    default: '`PLATEN_S3_ENDPOINT`',
    description: 'Where callers reach S3 (`https://files.example.com`); `pdf_url` begins with it.',
  }),
  region: setting('PLATEN_S3_REGION', REGION, {
    default: 'us-east-1',
    description: 'The region that requests are signed for.',
  }),
  bucket: setting('PLATEN_S3_BUCKET', BUCKET, {
    description: 'The bucket of manifests, templates and, unless a tenant says otherwise, PDFs.',
  }),
  prefix: setting('PLATEN_S3_PREFIX', KEY_PREFIX, {
    default: 'none',
    absent: () => '',
    description: 'What every key begins with (`platen/`), so that a bucket can be shared.',
  }),
  isPathStyle: setting('PLATEN_S3_PATH_STYLE', BOOLEAN, {
    default: 'false',
    description: 'Put the bucket in the path and not in the host name, as most stores want it that are not Amazon’s.',
  }),
  installation: setting('PLATEN_INSTALLATION', INSTALLATION, {
    default: 'platen',
    description:
      'Name of this installation, the same for all its processes; the first process claims the prefix in S3 for it.',
  }),
})

/** The settings of S3 and of the installation's namespace in it. */
export const S3_SETTINGS = mapped(TABLE, ({ bucket, prefix, installation, ...options }) => ({
  ...options,
  namespace: { bucket, prefix, installation },
}))
