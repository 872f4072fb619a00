/** The renderer of one process: the threads and the browser its engines share, and a worker for each engine. */
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import type { Engines } from './engine/open-engines.ts'
import type { RenderEngine } from './port/engine.ts'
import type { PresenceState } from './port/presence.ts'
import { runWorker, type WorkerPorts, type WorkerSettings } from './worker.ts'

export interface RendererOptions {
  readonly ports: WorkerPorts
  readonly worker: WorkerSettings
  /** They stay their opener's to close. */
  readonly engines: Engines
  /** Aborts when the renders in hand are to be left to others; absent = never. */
  readonly leaving?: AbortSignal
  /** Those whose queues it serves; absent = all. */
  readonly serves?: readonly Engine[]
}

/** `missing`: there is no browser, or the engine is not served here. `broken`: it cannot be opened, or its browser or its threads do not start. `dead`: its worker has ended by a defect. */
export type EngineState = PresenceState | 'missing' | 'dead'

/** Closing it lets the renders in hand end, or leaves them once `leaving` has aborted, then closes the browser. */
export interface Renderer extends AsyncDisposable {
  /** Takes renders from the queue from now on. Called when the settings they are judged by have been read. */
  begin(): void
  states(): Readonly<Record<Engine, EngineState>>
}

/** Starts the browser without waiting for it. Renders wait in their queue until `begin`, and for their engine. */
export function openRenderer(options: RendererOptions): Renderer {
  const { engines, serves = ENGINES } = options
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const served = (engine: Engine, open: () => Promise<RenderEngine>) =>
    serves.includes(engine) ? serve(options, begun, open) : MISSING
  const reactPdf = served('react_pdf', async () => engines.openReactPdf())
  const html = engines.openHtml === undefined ? MISSING : served('html', engines.openHtml)
  return {
    states: () => ({ react_pdf: reactPdf.state(), html: html.state() }),
    begin,
    async [Symbol.asyncDispose]() {
      const stopped = Promise.all([reactPdf.stop(), html.stop()])
      begin()
      await stopped
    },
  }
}

interface Service {
  state(): EngineState
  stop(): Promise<void>
}

const MISSING: Service = { state: () => 'missing', stop: async () => undefined }

/** Runs the worker of one engine from when the engine is open and `begun` resolved until `stop`. */
function serve(options: RendererOptions, begun: Promise<void>, open: () => Promise<RenderEngine>): Service {
  const { ports, worker: settings, leaving } = options
  const stopping = new AbortController()
  let engine: RenderEngine | undefined
  let hasFailed = false
  const run = async () => {
    await begun
    await using opened = await open()
    engine = opened
    const { signal } = stopping
    if (!signal.aborted) await runWorker(ports, opened, { settings, signal, ...(leaving && { leaving }) })
  }
  const ended = run().catch((err: unknown) => {
    hasFailed = true
    ports.log.error({ err }, 'engine stopped working')
  })
  return {
    state() {
      if (hasFailed) return engine === undefined ? 'broken' : 'dead'
      return engine?.state() ?? 'starting'
    },
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
