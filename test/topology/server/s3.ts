/** A real S3: versitygw over a folder. */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { binaryOf } from './binary.ts'
import { HOST } from './port.ts'
import { type ServerProcess, startServer } from './process.ts'

export interface S3Server extends ServerProcess {
  readonly endpoint: string
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** Removes all objects from its buckets. */
  empty(): Promise<void>
}

const HEALTH = '/health'
const CREDENTIALS = { accessKeyId: 'platen-test', secretAccessKey: 'platen-test-secret' }

/** Starts an S3 with these empty buckets. */
export async function startS3(buckets: readonly string[] = ['platen']): Promise<S3Server> {
  const path = binaryOf('s3')
  const endpointOf = (port: number) => `http://${HOST}:${port}`
  let store = ''
  const server = await startServer({
    name: 's3',
    async prepare({ folder }) {
      store = join(folder, 'store')
      for (const bucket of buckets) await mkdir(join(store, bucket), { recursive: true })
    },
    command: ({ port }) => ({
      path,
      args: ['--port', `${HOST}:${port}`, '--health', HEALTH, 'posix', store],
      env: { ROOT_ACCESS_KEY: CREDENTIALS.accessKeyId, ROOT_SECRET_KEY: CREDENTIALS.secretAccessKey },
    }),
    isReady: async ({ port }, signal) => (await fetch(`${endpointOf(port)}${HEALTH}`, { signal })).ok,
  })
  return {
    ...server,
    endpoint: endpointOf(server.port),
    region: 'us-east-1',
    credentials: CREDENTIALS,
    async empty() {
      // Its buckets are folders, so a new folder is an empty bucket.
      for (const bucket of buckets) {
        await rm(join(store, bucket), { recursive: true })
        await mkdir(join(store, bucket))
      }
    },
  }
}
