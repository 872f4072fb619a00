/** Without credentials here, the SDK finds them in the environment, in files, or by the identity of the pod. */
import { isKeyPrefix } from '../../s3/namespace.ts'
import { anyText, BASE_URL, BOOLEAN, type Format, matching } from '../format.ts'
import { mapped, optional, setting, table } from '../setting.ts'
import { tlsFaults, tlsSettings } from './tls.ts'

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const REGION = matching(NAME, 'the name of a region')
const INSTALLATION = matching(NAME, 'a name of small letters, digits and dashes, at most 63')
const BUCKET = matching(
  /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  'the name of a bucket: 3 to 63 small letters, digits, dots and dashes',
)

/** The last slash is easy to forget, and not required. */
const KEY_PREFIX: Format<string> = {
  wanted: 'names of letters, digits, dots, dashes and underscores, each followed by a slash',
  parse(text) {
    const prefix = text.endsWith('/') ? text : `${text}/`
    return isKeyPrefix(prefix) ? prefix : undefined
  },
}

const TABLE = table(
  {
    endpoint: optional('PLATEN_S3_ENDPOINT', BASE_URL, {
      default: "Amazon's endpoint of the region",
      description: 'URL at which the service reaches S3, such as `http://minio.storage:9000`.',
    }),
    publicEndpoint: optional('PLATEN_S3_PUBLIC_ENDPOINT', BASE_URL, {
      default: '`PLATEN_S3_ENDPOINT`',
      description: 'URL at which callers reach S3, such as `https://files.example.com`; `pdf_url` begins with it.',
    }),
    accessKeyId: optional('PLATEN_S3_ACCESS_KEY_ID', anyText('the id of an access key'), {
      default: 'found by the AWS SDK',
      description: 'Id of the access key. Without one, the AWS SDK looks for credentials where it always does.',
      isSecret: true,
    }),
    secretAccessKey: optional('PLATEN_S3_SECRET_ACCESS_KEY', anyText('the secret of an access key'), {
      default: 'found by the AWS SDK',
      description: 'Secret of the access key; required with `PLATEN_S3_ACCESS_KEY_ID`.',
      isSecret: true,
    }),
    ...tlsSettings('PLATEN_S3', 'S3'),
    region: setting('PLATEN_S3_REGION', REGION, {
      default: 'us-east-1',
      description: 'The region that requests are signed for.',
    }),
    bucket: setting('PLATEN_S3_BUCKET', BUCKET, {
      description: 'Bucket for manifests, templates and the PDFs of tenants without a bucket of their own.',
    }),
    prefix: setting('PLATEN_S3_PREFIX', KEY_PREFIX, {
      default: 'none',
      absent: () => '',
      description: 'Prefix of every key, such as `platen/`, for a shared bucket.',
    }),
    isPathStyle: setting('PLATEN_S3_PATH_STYLE', BOOLEAN, {
      default: 'false',
      description: 'Put the bucket in the path instead of the host name; most stores other than Amazon’s need this.',
    }),
    installation: setting('PLATEN_INSTALLATION', INSTALLATION, {
      default: 'platen',
      description:
        'Name of this installation, the same for all its processes; the first process claims the prefix in S3 for it.',
    }),
  },
  ({ endpoint, accessKeyId, secretAccessKey, ca, cert, key }) => [
    (accessKeyId === undefined) !== (secretAccessKey === undefined) &&
      'PLATEN_S3_ACCESS_KEY_ID and PLATEN_S3_SECRET_ACCESS_KEY are set together or not at all',
    ...tlsFaults(
      'PLATEN_S3',
      { ca, cert, key },
      { isTls: endpoint?.startsWith('http:') !== true, needed: 'a PLATEN_S3_ENDPOINT that begins with https' },
    ),
  ],
)

export const S3_SETTINGS = mapped(TABLE, (values) => {
  const { bucket, prefix, installation, accessKeyId, secretAccessKey, ca, cert, key, ...options } = values
  return {
    ...options,
    credentials:
      accessKeyId !== undefined && secretAccessKey !== undefined ? { accessKeyId, secretAccessKey } : undefined,
    tls: (ca ?? cert) ? { ca, cert, key } : undefined,
    namespace: { bucket, prefix, installation },
  }
})
