/**
 * A process with both engines and a canary in a network of its own, where the kernel allows one: nothing of it reaches another
 * machine, and nothing it sends or looks up goes unseen. It takes util-linux's `unshare` and iproute2's `ip`, and root or user
 * namespaces; `isAlone` says whether they were to be had.
 */
import { execFileSync, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { WebhookResponse } from '@platen/contract/port/webhook-sender.ts'
import type { Rendering, RenderWork } from '@platen/renderer/port/engine.ts'
import type { Call } from '../webhook/caller.ts'
import type { Sightings } from './canary.ts'
import type { Leaving } from './unguarded.ts'

/** How a document ended: as a PDF, or as a failure of the catalog. */
export type Ending = Rendering | { readonly code: string; readonly message: string }

export type Order =
  | { readonly kind: 'open' }
  | { readonly kind: 'render'; readonly engine: Engine; readonly work: RenderWork }
  | { readonly kind: 'sightings' }
  | { readonly kind: 'unguarded'; readonly engine: Engine; readonly source: string }
  | { readonly kind: 'leavings'; readonly leavings: readonly Leaving[] }
  | { readonly kind: 'call'; readonly call: Call }
  | { readonly kind: 'unguarded call'; readonly call: Call }
  | { readonly kind: 'close' }

export interface Reports {
  readonly open: { readonly port: number; readonly folder: string }
  readonly render: Ending
  readonly sightings: Sightings
  readonly unguarded: Uint8Array
  readonly leavings: readonly string[]
  readonly call: WebhookResponse
  readonly 'unguarded call': undefined
  readonly close: Sightings
}

/** An answer to the order of that number; 0 is none, and the process could not start. */
export type Report =
  | { readonly id: number; readonly value: Reports[Order['kind']] }
  | { readonly id: number; readonly error: string }

export interface HostileNetwork extends AsyncDisposable {
  /** Is the network the process's own, so that everything is seen? */
  readonly isAlone: boolean
  /** Where the canary listens, and the folder its files lie in, too. */
  readonly canary: Reports['open']
  /** What is in all that a document must not get: the canary's files, and the environment of the process. */
  readonly word: string
  render(engine: Engine, work: RenderWork): Promise<Ending>
  sightings(): Promise<Sightings>
  /** Renders by the bare library, as somebody who knows of no danger would: what is seen then shows that it can be seen. */
  renderUnguarded(engine: Engine, source: string): Promise<Uint8Array>
  /** What the second of two documents finds of the first when a bare browser holds both, for each pair. */
  findLeft(leavings: readonly Leaving[]): Promise<readonly string[]>
  call(call: Call): Promise<WebhookResponse>
  callUnguarded(call: Call): Promise<void>
  /** Ends the process. What was seen since the last time, until its last moment. */
  close(): Promise<Sightings>
}

/** What tells whether a network can be made: the one command that takes a kernel with more than namespaces. */
export const VETH = 'link add eth0 type veth peer name eth1'

/** The variable of the process's environment that holds the word. */
export const MARKER_VARIABLE = 'PLATEN_MARKER'

export const SILENCE: Sightings = { connections: 0, datagrams: 0, lookups: [] }

export async function openNetwork(): Promise<HostileNetwork> {
  const wall = wallOf()
  // No blanks and no hyphens, at which a line might break, and short, as frames are narrow.
  const word = `marked${randomUUID().slice(0, 8)}`
  const child = fork(join(import.meta.dirname, 'main.ts'), wall === undefined ? [] : ['--alone'], {
    env: { [MARKER_VARIABLE]: word, PATH: process.env['PATH'] },
    serialization: 'advanced',
    ...(wall !== undefined && { execPath: 'unshare', execArgv: [...wall, process.execPath] }),
  })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const failAll = (reason: string) => {
    for (const { reject } of waiting.values()) reject(new Error(reason))
    waiting.clear()
  }
  child.on('message', (report: Report) => {
    if (report.id === 0 && 'error' in report) return failAll(report.error)
    const asked = waiting.get(report.id)
    waiting.delete(report.id)
    if ('error' in report) asked?.reject(new Error(report.error))
    else asked?.resolve(report.value)
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      failAll('the process of the hostile documents has ended')
      resolve()
    })
  })

  let orders = 0
  function ask<Kind extends Order['kind']>(order: Extract<Order, { kind: Kind }>): Promise<Reports[Kind]> {
    orders += 1
    // Each order is answered by the report of its kind.
    const answer = Promise.withResolvers<unknown>() as PromiseWithResolvers<Reports[Kind]>
    waiting.set(orders, answer as PromiseWithResolvers<unknown>)
    child.send({ id: orders, order })
    return answer.promise
  }

  let closing: Promise<Sightings> | undefined
  const close = () => {
    closing ??= ask({ kind: 'close' })
    return closing
  }

  return {
    isAlone: wall !== undefined,
    canary: await ask({ kind: 'open' }),
    word,
    render: (engine, work) => ask({ kind: 'render', engine, work }),
    sightings: () => ask({ kind: 'sightings' }),
    renderUnguarded: (engine, source) => ask({ kind: 'unguarded', engine, source }),
    findLeft: (leavings) => ask({ kind: 'leavings', leavings }),
    call: (call) => ask({ kind: 'call', call }),
    callUnguarded: (call) => ask({ kind: 'unguarded call', call }),
    close,
    async [Symbol.asyncDispose]() {
      await close()
      await ended
    },
  }
}

/** What `unshare` is to be told for a network and mounts of one's own: root has the right, others by a user namespace. */
function wallOf(): readonly string[] | undefined {
  const walls = [
    ['--net', '--mount'],
    ['--net', '--mount', '--map-root-user'],
  ]
  return walls.find((wall) => {
    try {
      execFileSync('unshare', [...wall, 'ip', ...VETH.split(' ')], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}
