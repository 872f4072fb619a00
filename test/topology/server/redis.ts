/** A real Redis, durable by its append-only file. */
import { writeFile } from 'node:fs/promises'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect as connectSecurely } from 'node:tls'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { anIdentity, type Certificate, type ServerIdentity } from '../host.ts'
import { binaryOf } from './binary.ts'
import { HOST } from './port.ts'
import { type Place, type ServerProcess, startServer } from './process.ts'

export interface RedisOptions {
  /** Password that clients must send. Absent = none. */
  readonly password?: string
  /** Accepts only TLS. `true` = with its own identity. */
  readonly tls?: boolean | ServerIdentity
  /** The client certificate that it requires. Absent = it asks for none. */
  readonly client?: Certificate
}

export interface RedisServer extends ServerProcess {
  readonly host: string
  /** `redis://…` or `rediss://…`, with the password. */
  readonly url: string
  readonly password: string | undefined
  /** For TLS clients. */
  readonly tls: { readonly ca: string; readonly servername: string } | undefined
  /** Writes the files. Redis reads them at `CONFIG SET` with the returned words. */
  writeIdentity(identity: ServerIdentity): Promise<readonly string[]>
}

type Access = Pick<RedisServer, 'tls' | 'password'>

const NAME = 'redis.example.test'

export async function startRedis({ password, tls = false, client }: RedisOptions = {}): Promise<RedisServer> {
  const path = binaryOf('redis')
  const own = () => ({ ...anIdentity({ name: NAME }), ...(client && { clientsCa: client.cert }) })
  const identity = tls === true ? own() : tls || undefined
  const trust = identity && { ca: identity.ca, servername: identity.name }
  const server = await startServer({
    name: 'redis',
    async prepare({ folder, port }) {
      const written = identity && (await writeIdentity(folder, identity))
      const tlsLines = [...(written ?? []), ['tls-auth-clients', identity?.clientsCa ? 'yes' : 'no']]
      const listening = identity
        ? ['port 0', `tls-port ${port}`, ...tlsLines.map((line) => line.join(' '))]
        : [`port ${port}`]
      const lines = [`bind ${HOST}`, ...listening, 'protected-mode no', 'save ""', 'appendonly yes', `dir ${folder}`]
      // In a file, because other users can read the command line.
      if (password) lines.push(`requirepass ${JSON.stringify(password)}`)
      await writeFile(join(folder, 'redis.conf'), `${lines.join('\n')}\n`, { mode: 0o600 })
    },
    command: ({ folder }) => ({ path, args: [join(folder, 'redis.conf')] }),
    isReady: (place, signal) => answers(place, { tls: trust && { ...trust, ...client }, password }, signal),
  })
  const secret = password ? `:${encodeURIComponent(password)}@` : ''
  const url = `${tls ? 'rediss' : 'redis'}://${secret}${HOST}:${server.port}`
  const written = async (next: ServerIdentity) => (await writeIdentity(server.folder, next)).flat()
  return { ...server, host: HOST, url, password, tls: trust, writeIdentity: written }
}

/** For the service's client. The limit of a call is generous, because the machine may be busy. */
export function redisSettings(
  { host, port, password, tls }: Pick<RedisServer, 'host' | 'port' | 'password' | 'tls'>,
  callMsMax = 20_000,
) {
  return {
    location: { kind: 'server', address: { host, port } },
    password,
    tls,
    callMsMax,
    clock: systemClock(),
  } as const
}

/** Returns the directives that name the files. Paths are relative to the data folder, Redis's working directory. */
async function writeIdentity(
  folder: string,
  { key, cert, clientsCa }: ServerIdentity,
): Promise<readonly (readonly [directive: string, file: string])[]> {
  await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(folder, 'cert.pem'), cert)
  if (clientsCa) await writeFile(join(folder, 'clients.pem'), clientsCa)
  return [
    ['tls-cert-file', 'cert.pem'],
    ['tls-key-file', 'key.pem'],
    ...(clientsCa ? [['tls-ca-cert-file', 'clients.pem'] as const] : []),
  ]
}

/** Throws when nobody listens, or when Redis closes the connection. */
function answers({ port }: Place, { tls, password }: Access, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = tls ? connectSecurely({ host: HOST, port, ...tls }) : connectPlain({ host: HOST, port })
    const abort = () => socket.destroy(new Error('no answer'))
    signal.addEventListener('abort', abort, { once: true })
    socket.once('close', () => signal.removeEventListener('abort', abort))
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('closed without an answer')))
    let answer = ''
    socket.on('data', (data) => {
      answer += data.toString()
      // It answers -LOADING while it loads its file.
      if (!/^[+]PONG|^-/m.test(answer)) return
      resolve(!answer.includes('-'))
      socket.destroy()
    })
    socket.write(`${password === undefined ? '' : requestOf('AUTH', password)}${requestOf('PING')}`)
  })
}

function requestOf(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
}
