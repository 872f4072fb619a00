/** The renderer of one process: one worker per engine, over the threads and the browser that the engines share. */
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { Engines } from './engine/open-engines.ts'
import type { AvailabilityState } from './port/availability.ts'
import type { RenderEngine } from './port/engine.ts'
import { runWorker, type WorkerPorts, type WorkerSettings } from './worker.ts'

interface RendererOptions {
  readonly ports: WorkerPorts
  readonly worker: WorkerSettings
  /** The caller closes them. */
  readonly engines: Engines
  /** Aborts when running renders must be left to others. */
  readonly forceStop: AbortSignal
  /** The engines whose queues it serves. Absent means all. */
  readonly servedEngines?: readonly Engine[]
}

/**
 * `missing`: there is no browser, or this process does not serve the engine. `broken`: the engine cannot be opened, or its browser or
 * threads do not start. `dead`: a defect ended its worker.
 */
type EngineState = AvailabilityState | 'missing' | 'dead'

/** Closing waits for the running renders, or leaves them once `forceStop` has aborted. Then it closes the browser. */
export interface Renderer extends AsyncDisposable {
  /** Call it after the settings that decide on renders have been read. */
  start(): void
  states(): Readonly<Record<Engine, EngineState>>
}

/** Starts the browser without waiting for it. Renders wait in their queue until `start` and until their engine is ready. */
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

/** The worker begins when `started` has resolved, and ends at `stop`. */
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
    await using opened = await open()
    engine = opened
    await started
    const { signal } = stopping
    if (!signal.aborted) await runWorker(ports, opened, { settings, signal, forceStop })
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
