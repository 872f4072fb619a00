/** The renderer of one process: the threads and the browser its engines share, and a worker for each engine. */
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import type { Engines } from './engine/open-engines.ts'
import type { AvailabilityState } from './port/availability.ts'
import type { RenderEngine } from './port/engine.ts'
import { runWorker, type WorkerPorts, type WorkerSettings } from './worker.ts'

export interface RendererOptions {
  readonly ports: WorkerPorts
  readonly worker: WorkerSettings
  /** They stay their opener's to close. */
  readonly engines: Engines
  /** Aborts when the renders in hand are to be left to others; absent = never. */
  readonly forceStop?: AbortSignal
  /** Those whose queues it serves; absent = all. */
  readonly servedEngines?: readonly Engine[]
}

/** `missing`: there is no browser, or the engine is not served here. `broken`: it cannot be opened, or its browser or its threads do not start. `dead`: its worker has ended by a defect. */
export type EngineState = AvailabilityState | 'missing' | 'dead'

/** Closing it lets the renders in hand end, or leaves them once `forceStop` has aborted, then closes the browser. */
export interface Renderer extends AsyncDisposable {
  /** Takes renders from the queue from now on. Called when the settings they are judged by have been read. */
  start(): void
  states(): Readonly<Record<Engine, EngineState>>
}

/** Starts the browser without waiting for it. Renders wait in their queue until `start`, and for their engine. */
export function openRenderer(options: RendererOptions): Renderer {
  const { engines, servedEngines = ENGINES } = options
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const served = (engine: Engine, open: () => Promise<RenderEngine>) =>
    servedEngines.includes(engine) ? serveEngine(options, started, open) : MISSING
  const reactPdf = served('react_pdf', async () => engines.openReactPdf())
  const html = engines.openHtml === undefined ? MISSING : served('html', engines.openHtml)
  return {
    states: () => ({ react_pdf: reactPdf.state(), html: html.state() }),
    start,
    async [Symbol.asyncDispose]() {
      const stopped = Promise.all([reactPdf.stop(), html.stop()])
      start()
      await stopped
    },
  }
}

interface EngineService {
  state(): EngineState
  stop(): Promise<void>
}

const MISSING: EngineService = { state: () => 'missing', stop: async () => undefined }

/** Runs the worker of one engine from when the engine is open and `started` resolved until `stop`. */
function serveEngine(
  options: RendererOptions,
  started: Promise<void>,
  open: () => Promise<RenderEngine>,
): EngineService {
  const { ports, worker: settings, forceStop } = options
  const stopping = new AbortController()
  let engine: RenderEngine | undefined
  let hasFailed = false
  const run = async () => {
    await started
    await using opened = await open()
    engine = opened
    const { signal } = stopping
    if (!signal.aborted) await runWorker(ports, opened, { settings, signal, ...(forceStop && { forceStop }) })
  }
  const ended = run().catch((err: unknown) => {
    hasFailed = true
    ports.log.error({ err }, 'engine worker failed')
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
