/** Callers of a service under chaos. They record every answer with its time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { IS_LONG } from '../../../run/form.ts'
import type { TrialTenant } from '../rig/rig.ts'

/** One request and its result. Times of `performance.now()`. */
export interface Exchange {
  readonly kind: 'sync' | 'async' | 'get' | 'delete'
  readonly begunAt: number
  readonly endedAt: number
  /** 0 = the connection broke. */
  readonly status: number
  readonly hasRetryAfter: boolean
  /** The render that the request created or asked about, if known. */
  readonly render?: string
  /** The state in an answer to GET or DELETE with status 200. */
  readonly shown?: Shown
  readonly complaint?: string
}

/** The part of a render's state that must not change after the end. */
export interface Shown {
  readonly status: string
  readonly finishedAt: string | undefined
}

export interface LoadOptions {
  readonly tenant: TrialTenant
  /** Returns the current address of the API. Called before every request. */
  url(): string
  readonly hookUrl: string
  /** Random numbers from 0 to 1. They decide what is sent. */
  readonly random: () => number
  /** Milliseconds between two requests of one caller. The actual pause is random, from half of this to one and a half times this. */
  readonly pauseMs?: number
}

export interface Load {
  readonly exchanges: readonly Exchange[]
  /** Renders answered with 202 or with their PDF. */
  issued(): readonly string[]
  /** Renders whose end no caller has seen. */
  open(): readonly string[]
  /** Sends one sync render. Resolves with the status. */
  probe(): Promise<number>
  poll(): Promise<void>
  /** Stops the callers. Resolves when all of them have their answers. */
  stop(): Promise<void>
}

const SYNC_CALLERS = 2
const ASYNC_CALLERS = 3
/** The long form has many renders under way. The short form leaves CPU time for processes that restart. */
const PAUSE_MS = IS_LONG ? 300 : 1500
/** With more open renders than this, callers wait. The test is not about long queues. */
const OPEN_MAX = 200
const ROUNDS = IS_LONG ? 300_000 : 100_000
const TERMINAL = ['succeeded', 'failed', 'removed']
/** What a caller knows of a render that it removed: every later GET is answered 410. */
const REMOVED: Shown = { status: 'removed', finishedAt: undefined }

export function beginLoad(options: LoadOptions): Load {
  const { tenant, random, hookUrl, pauseMs = PAUSE_MS } = options
  const exchanges: Exchange[] = []
  const known = new Map<string, Shown | undefined>()
  const over = new AbortController()
  const pause = () => sleep(pauseMs * (0.5 + random()), undefined, { signal: over.signal }).catch(() => undefined)
  const openOnes = () => [...known].filter(([, shown]) => !isTerminal(shown)).map(([id]) => id)

  const send = async ({ kind, render, body }: Pick<Exchange, 'kind' | 'render'> & { body?: object }) => {
    const begunAt = performance.now()
    const path = render === undefined ? '/api/v1/render' : `/api/v1/render/${render}`
    const method = kind === 'get' ? 'GET' : kind === 'delete' ? 'DELETE' : 'POST'
    const answer = await exchange(`${options.url()}${path}`, { method, key: tenant.key, body })
    const whole: Exchange = { kind, begunAt, endedAt: performance.now(), ...(render && { render }), ...answer }
    exchanges.push(whole)
    return whole
  }
  const letter = (mode: 'sync' | 'async') => ({
    template: 'letter',
    mode,
    // Some async renders fail, which costs no units. Sync renders do not, because their callers would get a 500.
    data: { text: mode === 'async' && random() < 0.1 ? 7 : 'A letter', rounds: Math.floor(random() * ROUNDS) },
    ...(random() < 0.7 && { webhook_url: `${hookUrl}/hook` }),
  })
  const post = async (mode: 'sync' | 'async') => {
    const { render, status } = await send({ kind: mode, body: letter(mode) })
    if (render !== undefined && !known.has(render)) known.set(render, undefined)
    return status
  }
  const ask = async (kind: 'get' | 'delete', id: string) => {
    const { shown, status } = await send({ kind, render: id })
    if (shown !== undefined) known.set(id, shown)
    if (status === 204 || status === 410) known.set(id, REMOVED)
  }
  const call = async (mode: 'sync' | 'async') => {
    while (!over.signal.aborted) {
      if (openOnes().length < OPEN_MAX) await post(mode)
      await pause()
    }
  }
  /** Asks for random renders, also for ended ones, because their state must not change. */
  const watch = async () => {
    while (!over.signal.aborted) {
      const id = [...known.keys()][Math.floor(random() * known.size)]
      if (id !== undefined) await ask('get', id)
      await sleep(pauseMs / 4)
    }
  }
  /** Takes renders back, most of which wait or run. */
  const regret = async () => {
    while (!over.signal.aborted) {
      await pause()
      const id = openOnes().at(-1)
      if (id !== undefined) await ask('delete', id)
    }
  }
  const callers = [
    ...Array.from({ length: SYNC_CALLERS }, () => call('sync')),
    ...Array.from({ length: ASYNC_CALLERS }, () => call('async')),
    watch(),
    regret(),
  ]
  return {
    exchanges,
    issued: () => [...known.keys()],
    open: openOnes,
    probe: () => post('sync'),
    async poll() {
      for (const id of openOnes()) await ask('get', id)
    },
    async stop() {
      over.abort()
      await Promise.all(callers)
    },
  }
}

export function isTerminal(shown: Shown | undefined): boolean {
  return shown !== undefined && TERMINAL.includes(shown.status)
}

type Answer = Pick<Exchange, 'status' | 'hasRetryAfter' | 'render' | 'shown' | 'complaint'>

async function exchange(
  url: string,
  { method, key, body }: { readonly method: string; readonly key: string; readonly body: object | undefined },
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const { status, headers } = response
    const isJson = headers.get('content-type')?.startsWith('application/json') === true
    // Other tests compare the service's answers with their schemas.
    const parsed = isJson ? (JSON.parse(bytes.toString()) as ParsedBody) : {}
    const render = headers.get('x-service-render-id') ?? (status === 202 ? parsed.render_id : undefined)
    return {
      status,
      hasRetryAfter: headers.has('retry-after'),
      ...(render && { render }),
      ...(status === 200 && parsed.status && { shown: { status: parsed.status, finishedAt: parsed.finished_at } }),
      ...(status >= 400 && { complaint: bytes.toString().slice(0, 300) }),
    }
  } catch (error) {
    // `fetch` throws TypeError for a broken or refused connection.
    if (!(error instanceof TypeError)) throw error
    return {
      status: 0,
      hasRetryAfter: false,
      complaint: error.cause instanceof Error ? error.cause.message : error.message,
    }
  }
}

interface ParsedBody {
  readonly render_id?: string
  readonly status?: string
  readonly finished_at?: string
}
