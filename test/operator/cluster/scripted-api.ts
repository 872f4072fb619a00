/**
 * An API server of one kind of objects that says what a test has written for it: it lists in pages, watches, and answers the next
 * requests with faults, byte for byte. What is under test knows it by HTTP alone.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { KubeConfig, type User } from '@kubernetes/client-node'

export const NOTES = { group: 'platen.dev', version: 'v1alpha1', plural: 'notes' }

/** What a request is answered with instead. */
export type Fault = (response: ServerResponse, request: IncomingMessage) => void

export interface ScriptedApi extends AsyncDisposable {
  readonly config: KubeConfig
  /** Makes an object or changes it; `spec` is anything. */
  write(name: string, spec: unknown): void
  remove(name: string): void
  /** What a list would give: name and resourceVersion of each. */
  listed(): Readonly<Record<string, string>>
  /** The next requests of that kind that come are answered so, one after the other. */
  next(kind: Kind, ...faults: readonly Fault[]): void
  /** All that came, as `list`, `page` (a further one) or `watch <resourceVersion>`. */
  readonly asked: string[]
  /** Tells all watches that nothing has happened up to now. */
  bookmark(): void
  /** What has happened so far can be watched no more. */
  forgetPast(): void
  /** What has happened last is lost, as with a backup that is put back. */
  goBack(resourceVersion: number): void
  /** Writes this to all watches, as it is. */
  say(text: string): void
  /** Ends the connection of each watch: as it should be, by a FIN in the midst of the answer, or by a RST. */
  endWatches(how: 'end' | 'halfClose' | 'reset'): void
  watching(): number
  /** Nobody is listening on its port any more. */
  close(): Promise<void>
  open(): Promise<void>
}

type Kind = 'list' | 'page' | 'watch'

interface Happened {
  readonly at: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Note
}

interface Note {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
  readonly spec: unknown
}

/** As the API server tells that a resourceVersion, or a page's token, is too old. */
export const EXPIRED = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 }

export function statusAnswer(code: number, reason: string, headers: Readonly<Record<string, string>> = {}): Fault {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ ...EXPIRED, reason, code }))
  }
}

/** Answered 200, and then this. */
export function said(text: string): Fault {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(text)
  }
}

export async function aScriptedApi(): Promise<ScriptedApi> {
  const state = new State()
  const server = createServer((request, response) => state.answer(request, response))
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }
  return {
    config: configOf(`http://127.0.0.1:${port}`),
    asked: state.asked,
    write: (name, spec) => state.write(name, spec),
    remove: (name) => state.remove(name),
    listed: () => Object.fromEntries(state.items().map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
    next: (kind, ...faults) => void state.faults[kind].push(...faults),
    bookmark: () => state.bookmark(),
    forgetPast() {
      state.oldest = state.at
    },
    goBack: (resourceVersion) => state.goBack(resourceVersion),
    say: (text) => {
      for (const response of state.watches) response.write(text)
    },
    endWatches(how) {
      for (const response of state.watches) {
        if (how === 'end') response.end()
        else if (how === 'reset') response.socket?.resetAndDestroy()
        else response.socket?.end()
      }
    },
    watching: () => state.watches.size,
    close,
    async open() {
      await once(server.listen(port, '127.0.0.1'), 'listening')
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await close()
    },
  }
}

/** client-node sends credentials in the clear only to who skips the check of certificates. */
export function configOf(server: string, user: Omit<User, 'name'> = {}): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'scripted', server, skipTLSVerify: true }, { name: 'test', ...user })
  return config
}

class State {
  readonly asked: string[] = []
  readonly faults: Readonly<Record<Kind, Fault[]>> = { list: [], page: [], watch: [] }
  readonly watches = new Set<ServerResponse>()
  at = 1
  oldest = 0
  #notes = new Map<string, Note>()
  #happened: Happened[] = []
  #made = 0

  items(): readonly Note[] {
    return [...this.#notes.values()]
  }

  write(name: string, spec: unknown): void {
    const known = this.#notes.get(name)
    this.at += 1
    const uid = known?.metadata.uid ?? `uid-${++this.#made}`
    const object = { metadata: { name, uid, resourceVersion: `${this.at}` }, spec }
    this.#notes.set(name, object)
    this.#tell({ at: this.at, type: known === undefined ? 'ADDED' : 'MODIFIED', object })
  }

  remove(name: string): void {
    const known = this.#notes.get(name)
    if (known === undefined) return
    this.at += 1
    this.#notes.delete(name)
    const metadata = { ...known.metadata, resourceVersion: `${this.at}` }
    this.#tell({ at: this.at, type: 'DELETED', object: { ...known, metadata } })
  }

  bookmark(): void {
    this.at += 1
    const object = { kind: 'Note', metadata: { resourceVersion: `${this.at}` } }
    for (const response of this.watches) response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)
  }

  goBack(resourceVersion: number): void {
    this.at = resourceVersion
    this.#happened = this.#happened.filter(({ at }) => at <= resourceVersion)
    this.#notes = new Map()
    for (const { type, object } of this.#happened) {
      if (type === 'DELETED') this.#notes.delete(object.metadata.name)
      else this.#notes.set(object.metadata.name, object)
    }
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => undefined)
    const url = new URL(request.url ?? '', 'http://api')
    const isWatch = url.searchParams.has('watch')
    const kind = isWatch ? 'watch' : url.searchParams.has('continue') ? 'page' : 'list'
    this.asked.push(isWatch ? `watch ${url.searchParams.get('resourceVersion')}` : kind)
    const fault = this.faults[kind].shift()
    if (fault !== undefined) return fault(response, request)
    if (isWatch) this.#watch(Number(url.searchParams.get('resourceVersion')), response)
    else this.#list(url.searchParams, response)
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))]
    const items = this.items().slice(from, from + limit)
    const isLast = from + items.length >= this.#notes.size
    const metadata = { resourceVersion: `${this.at}`, ...(!isLast && { continue: `${from + items.length}` }) }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ kind: 'NoteList', metadata, items }))
  }

  #watch(from: number, response: ServerResponse): void {
    if (from > this.at) return statusAnswer(504, 'Timeout')(response, response.req)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (from < this.oldest) return void response.end(`${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`)
    for (const event of this.#happened) if (event.at > from) response.write(lineOf(event))
    this.watches.add(response)
    response.once('close', () => this.watches.delete(response))
  }

  #tell(event: Happened): void {
    this.#happened.push(event)
    for (const response of this.watches) response.write(lineOf(event))
  }
}

function lineOf({ type, object }: Happened): string {
  return `${JSON.stringify({ type, object })}\n`
}
