/** A real S3: versitygw over a folder. */
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { get as getPlain } from 'node:http'
import { get as getSecurely } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openS3ArtifactStore } from '@platen/adapters/s3/artifact-store.ts'
import type { S3Namespace } from '@platen/adapters/s3/namespace.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { anIdentity, presented, type ServerIdentity } from '../host.ts'
import { binaryOf } from './binary.ts'
import { HOST } from './port.ts'
import { type ServerProcess, startServer } from './process.ts'

export interface S3Server extends ServerProcess {
  readonly endpoint: string
  readonly region: string
  readonly credentials: S3Credentials
  readonly tls: { readonly ca: string } | undefined
  /** With the rights on all buckets. Needs `hasAccounts`. */
  addAccount(credentials: S3Credentials): Promise<void>
  removeAccount(accessKeyId: string): Promise<void>
  /** Changes the identity. When this resolves, new connections meet it. Needs another certificate. */
  present(identity: ServerIdentity): Promise<void>
  empty(): Promise<void>
}

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface S3Options {
  /** Accepts only TLS. `true` = with its own identity. */
  readonly tls?: boolean | ServerIdentity
  /** Can have accounts besides the root account. Only then does it answer strangers like Amazon's S3. */
  readonly hasAccounts?: boolean
}

const NAME = 's3.example.test'
const HEALTH = '/health'
const CREDENTIALS = { accessKeyId: 'platen-test', secretAccessKey: 'platen-test-secret' }
const NAMESPACE: S3Namespace = { bucket: 'platen', prefix: '', installation: 'platen' }
/** Generous, because the machine may be busy. */
const OPEN_MS_MAX = 60_000

export async function startS3(
  buckets: readonly string[] = ['platen'],
  { tls = false, hasAccounts = false }: S3Options = {},
): Promise<S3Server> {
  const path = binaryOf('s3')
  const endpointOf = (port: number) => `${tls ? 'https' : 'http'}://${HOST}:${port}`
  const identity = tls === true ? anIdentity({ name: NAME, addresses: [HOST] }) : tls || undefined
  let store = ''
  const server = await startServer({
    name: 's3',
    async prepare({ folder }) {
      store = join(folder, 'store')
      await mkdir(join(folder, 'account'))
      if (identity) await writeIdentity(folder, identity)
      for (const bucket of buckets) await mkdir(join(store, bucket), { recursive: true })
    },
    command: ({ port, folder }) => ({
      path,
      args: [
        '--port',
        `${HOST}:${port}`,
        // Other stores do so by default.
        '--keep-alive',
        '--health',
        HEALTH,
        // Otherwise a removed account has its rights for two minutes more.
        ...(hasAccounts ? ['--iam-dir', join(folder, 'account'), '--iam-cache-disable'] : []),
        ...(tls ? ['--cert', join(folder, 'cert.pem'), '--key', join(folder, 'key.pem')] : []),
        'posix',
        store,
      ],
      env: { ROOT_ACCESS_KEY: CREDENTIALS.accessKeyId, ROOT_SECRET_KEY: CREDENTIALS.secretAccessKey },
    }),
    isReady: (place, signal) => answers(`${endpointOf(place.port)}${HEALTH}`, identity?.ca, signal),
  })
  const admin = async (...args: readonly string[]) => {
    const env = {
      ADMIN_ENDPOINT_URL: endpointOf(server.port),
      ADMIN_ACCESS_KEY: CREDENTIALS.accessKeyId,
      ADMIN_SECRET_KEY: CREDENTIALS.secretAccessKey,
      // The command accepts no CA.
      ADMIN_ALLOW_INSECURE: `${identity !== undefined}`,
    }
    await promisify(execFile)(path, ['admin', ...args], { env })
  }
  return {
    ...server,
    endpoint: endpointOf(server.port),
    region: 'us-east-1',
    credentials: CREDENTIALS,
    tls: identity && { ca: identity.ca },
    addAccount: ({ accessKeyId, secretAccessKey }) =>
      admin('create-user', '--access', accessKeyId, '--secret', secretAccessKey, '--role', 'admin'),
    removeAccount: (accessKeyId) => admin('delete-user', '--access', accessKeyId),
    async present(next) {
      await writeIdentity(server.folder, next)
      process.kill(server.pid(), 'SIGHUP')
      await presented(server.port, next)
    },
    async empty() {
      // Its buckets are folders, so a new folder is an empty bucket.
      for (const bucket of buckets) {
        await rm(join(store, bucket), { recursive: true })
        await mkdir(join(store, bucket))
      }
    },
  }
}

export function s3Settings({ endpoint, region, credentials }: S3Server): Readonly<Record<string, string>> {
  return {
    PLATEN_S3_ENDPOINT: endpoint,
    PLATEN_S3_REGION: region,
    PLATEN_S3_PATH_STYLE: 'true',
    PLATEN_S3_BUCKET: NAMESPACE.bucket,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
}

export function openStore(s3: S3Server, namespace: Partial<S3Namespace> = {}): Promise<ArtifactStore & Disposable> {
  const options = {
    isPathStyle: true,
    namespace: { ...NAMESPACE, ...namespace },
    clock: systemClock(),
    ids: systemIds(),
  }
  return openS3ArtifactStore({ ...s3, ...options }, AbortSignal.timeout(OPEN_MS_MAX))
}

async function writeIdentity(folder: string, { key, cert }: ServerIdentity): Promise<void> {
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), cert)
}

/** `fetch` accepts no CA. */
function answers(url: string, ca: string | undefined, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { signal, ...(ca !== undefined && { ca }) }
    const asked = (ca === undefined ? getPlain : getSecurely)(url, options, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.once('error', reject)
  })
}
