/** A tenant that means harm, with all that a tenant has: a key, resources of its own, and an address to connect to. */
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { liveKey, liveOf, manifestOf, plan, template, tenant } from '../../fixture/manifests.ts'
import type { TestedService } from '../../topology/service.ts'

/** One thing it may try. Resolves when it has had its answers; what goes on until others have been watched does so by `endlessly`. */
export interface Attack {
  readonly name: string
  /** Is it one by resources? Of a cluster those are the operator's, beside whom `test/operator/reconcile/neighbour.test.ts` watches. */
  readonly isByResources?: boolean
  readonly begin: (attacker: Attacker) => Promise<void>
}

export function attacksOf(
  begins: Readonly<Record<string, Attack['begin']>>,
  { isByResources = false } = {},
): readonly Attack[] {
  return Object.entries(begins).map(([name, begin]) => ({ name, begin, ...(isByResources && { isByResources }) }))
}

export interface Attacker {
  /** Its resources beside those it has always, in place of those before. */
  readonly declare: (...documents: readonly object[]) => Promise<void>
  /** Does this again and again until it is disposed of; resolves after the first time. */
  readonly endlessly: (act: (time: number) => Promise<unknown>) => Promise<void>
  /** POST /render of a body, answered whatever it is; its caller leaves after `leavesMs`. */
  readonly render: (body: object, options?: { readonly leavesMs?: number; readonly key?: string }) => Promise<number>
  /** POST /render of an async one; its id is kept. */
  readonly submit: (body: object) => Promise<void>
  readonly ask: (path: string, init?: RequestInit) => Promise<number>
  /** Bytes to a connection, which stays open until the attack is over. */
  readonly open: (text: string | Uint8Array) => Socket
  readonly ids: readonly string[]
  /** Those of its sync renders that are not answered yet. */
  readonly waiting: () => readonly SyncRender[]
  /** Where the headers of a request for a render end, all but the last. */
  readonly head: (...headers: readonly string[]) => string
}

export interface SyncRender {
  readonly engine: 'html' | 'react_pdf'
  /** Its answer, if there is one yet; 0 where its caller left. */
  status?: number
}

export const ATTACKER_LIVE = liveOf('attacker')
/** The key of the tenant beside it. */
export const NEIGHBOUR_LIVE = liveOf('neighbour')
/** With its first and one more it has as many as a tenant may have. */
const OTHER_KEYS = Array.from({ length: 48 }, (_, at) => `attacker-${at}`)

/** The keys it has beside its first. */
export const ATTACKER_KEYS = OTHER_KEYS.map(liveOf)

/** What it has from the beginning; `templates` are those that the publish check lets pass. */
export function attackerDocuments(templates: Readonly<Record<string, object>>): readonly object[] {
  return [
    plan('hostile', {
      htmlEngineEnabled: true,
      javascriptEnabled: true,
      htmlRateLimitPerMinute: 100_000,
      syncRateLimitPerMinute: 100_000,
      asyncRateLimitPerMinute: 100_000,
      renderTimeoutSeconds: 1,
    }),
    tenant('attacker', 'hostile'),
    ...['attacker', ...OTHER_KEYS].map((name) => liveKey('attacker', liveOf(name), name)),
    ...Object.entries(templates).map(([name, spec]) => template('attacker', name, spec)),
  ]
}

/** Disposing of it closes what it has open, and takes its resources back. */
export function openAttacker(service: Pick<TestedService, 'url' | 'manifestsDir'>): Attacker & AsyncDisposable {
  const sockets: Socket[] = []
  const ids: string[] = []
  const waiting = new Set<SyncRender>()
  const endless: Promise<void>[] = []
  const departures = new AbortController()
  const file = join(service.manifestsDir, 'attacker.yaml')
  const ask = async (path: string, { headers, ...init }: RequestInit = {}): Promise<number> => {
    const all = { authorization: `Bearer ${ATTACKER_LIVE}`, ...Object(headers) }
    const signal = AbortSignal.any([departures.signal, ...(init.signal ? [init.signal] : [])])
    try {
      const answer = await fetch(service.url() + path, { ...init, headers: all, signal })
      const text = await answer.text()
      if (answer.status === 202) ids.push(JSON.parse(text).render_id)
      return answer.status
    } catch {
      // It has left, or was cut off.
      return 0
    }
  }
  const render: Attacker['render'] = async (body, { leavesMs, key: live = ATTACKER_LIVE } = {}) => {
    const own: SyncRender = { engine: 'engine' in body && body.engine === 'html' ? 'html' : 'react_pdf' }
    if (!('mode' in body)) waiting.add(own)
    own.status = await ask('/api/v1/render', {
      method: 'POST',
      headers: { authorization: `Bearer ${live}`, 'content-type': 'application/json' },
      body: JSON.stringify({ data: {}, ...body }),
      ...(leavesMs !== undefined && { signal: AbortSignal.timeout(leavesMs) }),
    })
    waiting.delete(own)
    return own.status
  }
  return {
    ids,
    waiting: () => [...waiting],
    ask,
    render,
    submit: async (body) => void (await render({ ...body, mode: 'async' })),
    declare: (...documents) => writeFile(file, manifestOf([...documents])),
    head: (...headers) =>
      ['POST /api/v1/render HTTP/1.1', 'Host: a', `Authorization: Bearer ${ATTACKER_LIVE}`, ...headers, ''].join(
        '\r\n',
      ),
    open(text) {
      const { hostname, port } = new URL(service.url())
      const socket = connect(Number(port), hostname)
      socket.on('error', () => socket.destroy())
      socket.write(text)
      sockets.push(socket)
      return socket
    },
    async endlessly(act) {
      await act(0)
      const go = async () => {
        for (let time = 1; !departures.signal.aborted; time++) await act(time)
      }
      endless.push(go())
    },
    async [Symbol.asyncDispose]() {
      departures.abort()
      await Promise.all(endless)
      for (const socket of sockets) socket.destroy()
      await writeFile(file, '')
    },
  }
}
