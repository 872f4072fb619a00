/** A real S3: versitygw over a folder. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { binaryOf } from './binary.ts'
import { type ServerProcess, startServer } from './process.ts'

export interface S3Server extends ServerProcess {
  readonly endpoint: string
  readonly region: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

const HOST = '127.0.0.1'
const HEALTH = '/health'
const CREDENTIALS = { accessKeyId: 'platen-test', secretAccessKey: 'platen-test-secret' }

/** Starts an S3 with these buckets, all empty. */
export async function startS3(buckets: readonly string[] = ['platen']): Promise<S3Server> {
  const path = binaryOf('s3')
  const endpointOf = (port: number) => `http://${HOST}:${port}`
  const server = await startServer({
    name: 's3',
    async prepare({ folder }) {
      for (const bucket of buckets) await mkdir(join(folder, 'store', bucket), { recursive: true })
    },
    command: ({ folder, port }) => ({
      path,
      args: ['--port', `${HOST}:${port}`, '--health', HEALTH, 'posix', join(folder, 'store')],
      env: { ROOT_ACCESS_KEY: CREDENTIALS.accessKeyId, ROOT_SECRET_KEY: CREDENTIALS.secretAccessKey },
    }),
    isReady: async ({ port }, signal) => (await fetch(`${endpointOf(port)}${HEALTH}`, { signal })).ok,
  })
  return { ...server, endpoint: endpointOf(server.port), region: 'us-east-1', credentials: CREDENTIALS }
}
