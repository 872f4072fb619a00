/** What a scenario knows of the service under test: an address, and that it can be stopped, killed and started again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Manifest } from '@platen/contract/render.ts'
import type { StatusRecord } from '@platen/contract/schema/response.ts'

export interface Service extends AsyncDisposable {
  /** `http://host:port`, no trailing slash. It may change with a restart. */
  url(): string
  /** SIGTERM; resolves with the exit code when it has gone. */
  stop(): Promise<number | null>
  /** SIGKILL; resolves when it has gone. */
  kill(): Promise<void>
  /** Starts again on the same durable state, after `stop` or `kill`. */
  start(): Promise<void>
}

/** A service as the scenarios have it, whichever its topology: it can also be looked into. */
export interface TestedService extends Service {
  /** The folder of manifests it follows. */
  readonly manifestsDir: string
  /** Where generated keys and identities are kept. */
  readonly dataDir: string
  /** The log of all of its processes, since they were started last. */
  log(): string
  /** Every folder that anything of it is stored in, `dataDir` included. */
  readonly storedIn: readonly string[]
  /** What it stands on, by the adapters it has itself; for while it is stopped. */
  openStores(signal: AbortSignal): Promise<Stores>
}

export interface Stores extends AsyncDisposable {
  readonly artifacts: ArtifactStore
  /** Tells of the end of a render as whoever made it would, after its manifest. */
  tell(manifest: Manifest, signal: AbortSignal): Promise<void>
}

export interface RenderAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array
  /** The body as JSON; throws when it is none. */
  json(): Record<string, unknown>
}

/** One request with a key. `body` is sent as JSON; a string is sent as it is. */
export async function request(
  service: Service,
  call: { key: string; path: string; body?: unknown; headers?: Record<string, string> },
): Promise<RenderAnswer> {
  const { key, path, body, headers } = call
  const response = await fetch(`${service.url()}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    headers: response.headers,
    body: bytes,
    json: () => JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>,
  }
}

/** POST /api/v1/render. */
export function render(service: Service, key: string, body: unknown): Promise<RenderAnswer> {
  return request(service, { key, path: '/api/v1/render', body })
}

/** Accepts an async render and returns its id. Throws unless it is answered 202. */
export async function submit(service: Service, key: string, body: object): Promise<string> {
  const answer = await render(service, key, { ...body, mode: 'async' })
  if (answer.status !== 202) throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
  return String(answer.json()['render_id'])
}

/** GET /api/v1/render/:id, asked again when it says where too much was asked. Throws unless it is answered 200. */
export async function statusOf(service: Service, key: string, id: string): Promise<StatusRecord> {
  const answer = await request(service, { key, path: `/api/v1/render/${id}` })
  const waitS = Number(answer.headers.get('retry-after'))
  if (answer.status === 429) return await sleep(waitS * 1000).then(() => statusOf(service, key, id))
  if (answer.status !== 200) throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
  // The API's own tests hold its answers against this schema.
  return answer.json() as unknown as StatusRecord
}

/** Polls, as a caller would, until a render is in one of the states. The test's own time limit bounds it. */
export async function reaches(
  service: Service,
  render: { key: string; id: string; states: readonly StatusRecord['status'][] },
): Promise<StatusRecord> {
  for (let waitMs = POLL_MS; ; waitMs = Math.min(2 * waitMs, STATUS_POLL_MS_MAX)) {
    const record = await statusOf(service, render.key, render.id)
    if (render.states.includes(record.status)) return record
    await sleep(waitMs)
  }
}

const POLL_MS = 50
/** Many callers who ask more often would take the cores that their renders need. */
const STATUS_POLL_MS_MAX = 200

/** Polls until a render has ended. */
export function ended(service: Service, key: string, id: string): Promise<StatusRecord> {
  return reaches(service, { key, id, states: ['succeeded', 'failed'] })
}
