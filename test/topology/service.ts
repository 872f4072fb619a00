/** The service under test, for scenarios. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EndedManifest } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { poll } from '../time/poll.ts'

export interface Service extends AsyncDisposable {
  /** `http://host:port`, no trailing slash. It may change at a restart. */
  url(): string
  /** Sends SIGTERM. Resolves with the exit code when it has ended. */
  stop(): Promise<number | null>
  /** Sends SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>
  /** Starts it again on the same durable state, after `stop` or `kill`. */
  start(): Promise<void>
}

/** A service of any topology, for scenarios. Tests can also read its files, logs and stores. */
export interface TestedService extends Service {
  /** The folder of manifests it follows. */
  readonly manifestsDir: string
  /** Where generated keys and identities are kept. */
  readonly dataDir: string
  /** Output of all its processes since their last start. */
  log(): string
  /** All folders that contain its data, including `dataDir`. */
  readonly storedIn: readonly string[]
  /** Opens the stores of the stopped service with its own adapters. */
  openStores(signal: AbortSignal): Promise<Stores>
}

export interface Stores extends AsyncDisposable {
  readonly artifacts: ArtifactStore
  /** Publishes the outcome as a renderer would, after the manifest. */
  report(manifest: EndedManifest, signal: AbortSignal): Promise<void>
}

export interface RenderAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array
  /** Throws when the body is not JSON. */
  json(): Record<string, unknown>
}

export interface Call {
  readonly key: string
  /** Default: that of renders. */
  readonly path?: string
  /** Default: POST with a body, else GET. */
  readonly method?: string
  /** Sent as JSON, but a string unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Disconnects the caller. */
  readonly signal?: AbortSignal
}

export async function request(service: Pick<Service, 'url'>, call: Call): Promise<RenderAnswer> {
  const {
    key,
    path = '/api/v1/render',
    body,
    headers,
    signal = null,
    method = body === undefined ? 'GET' : 'POST',
  } = call
  const response = await fetch(`${service.url()}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal,
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    headers: response.headers,
    body: bytes,
    json: () => JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>,
  }
}

export function render(service: Pick<Service, 'url'>, key: string, body: unknown): Promise<RenderAnswer> {
  return request(service, { key, body })
}

/** Repeats the request on 503: a list is incomplete until it has all that happened before the start of the service. */
export function readList(service: Pick<Service, 'url'>, call: Call): Promise<RenderAnswer> {
  return poll(() => request(service, call)).until(({ status }) => status !== 503)
}

/** Returns the id. Throws unless the answer is 202. */
export async function submit(service: Pick<Service, 'url'>, key: string, body: object): Promise<string> {
  const answer = await render(service, key, { ...body, mode: 'async' })
  if (answer.status !== 202) throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
  return String(answer.json()['render_id'])
}

/** GET /api/v1/render/:id. Repeats the request on 429. Throws unless the answer is 200. */
export async function statusOf(service: Pick<Service, 'url'>, key: string, id: string): Promise<StatusRecord> {
  const answer = await request(service, { key, path: `/api/v1/render/${id}` })
  const waitS = Number(answer.headers.get('retry-after'))
  if (answer.status === 429) return await sleep(waitS * 1000).then(() => statusOf(service, key, id))
  if (answer.status !== 200) throw new Error(`${answer.status}: ${Buffer.from(answer.body).toString()}`)
  // Tests of the API compare its answers with this schema.
  return answer.json() as unknown as StatusRecord
}

/** Polls like a caller. The time limit of the test ends it. */
export async function reaches(
  service: Pick<Service, 'url'>,
  render: { key: string; id: string; states: readonly StatusRecord['status'][] },
): Promise<StatusRecord> {
  for (let waitMs = POLL_MS; ; waitMs = Math.min(2 * waitMs, STATUS_POLL_MS_MAX)) {
    const record = await statusOf(service, render.key, render.id)
    if (render.states.includes(record.status)) return record
    await sleep(waitMs)
  }
}

const POLL_MS = 50
/** Polling by many callers takes CPU time from their renders, so polls must not be too frequent. */
const STATUS_POLL_MS_MAX = 200

/** A key may be published before the templates of its tenant have been checked. */
export async function published(service: Pick<Service, 'url'>, key: string, code: string): Promise<void> {
  const ask = () => request(service, { key, path: `/api/v1/templates/${code}` })
  await poll(ask).until(({ status }) => status === 200)
}

export function ended(service: Pick<Service, 'url'>, key: string, id: string): Promise<StatusRecord> {
  return reaches(service, { key, id, states: ['succeeded', 'failed'] })
}

/** Repeats a status request that waits. Throws unless the answer is 200. */
export async function endedByWaiting(service: Pick<Service, 'url'>, key: string, id: string): Promise<StatusRecord> {
  for (;;) {
    const record = await statusOf(service, key, `${id}?wait=30`)
    if (record.status === 'succeeded' || record.status === 'failed') return record
  }
}
