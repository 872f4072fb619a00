/** The renderer inside the embedded service: a pool of render threads, a browser where there is one, and a worker for each engine. */
import type { Engine } from '@platen/contract/render.ts'
import type { RenderEngine } from '@platen/renderer/engine/engine.ts'
import type { Engines } from '@platen/renderer/engine/open-engines.ts'
import type { PresenceState } from '@platen/renderer/engine/presence.ts'
import { runWorker, type WorkerPorts, type WorkerSettings } from '@platen/renderer/worker.ts'

export interface RendererOptions {
  readonly ports: WorkerPorts
  readonly worker: WorkerSettings
  /** They stay their opener's to close. */
  readonly engines: Engines
}

/** `missing`: there is no browser. `broken`: it cannot be opened, or its browser or its threads do not start. `dead`: its worker has ended by a defect. */
export type EngineState = PresenceState | 'missing' | 'dead'

/** Closing it lets the renders in hand end, then closes the browser. */
export interface EmbeddedRenderer extends AsyncDisposable {
  /** Takes renders from the queue from now on. Called when the settings they are judged by have been read. */
  begin(): void
  states(): Readonly<Record<Engine, EngineState>>
}

/** Starts the browser without waiting for it. Renders wait in their queue until `begin`, and for their engine. */
export function openRenderer(options: RendererOptions): EmbeddedRenderer {
  const { engines } = options
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const reactPdf = serve(options, begun, async () => engines.openReactPdf())
  const html = engines.openHtml === undefined ? missing(options) : serve(options, begun, engines.openHtml)
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

function missing({ ports }: RendererOptions): Service {
  ports.log.warn({}, 'no chromium: html renders are answered 503; renderer/install-chromium.sh installs it')
  return { state: () => 'missing', stop: async () => {} }
}

/** Runs the worker of one engine from when the engine is open and `begun` resolved until `stop`. */
function serve({ ports, worker }: RendererOptions, begun: Promise<void>, open: () => Promise<RenderEngine>): Service {
  const stopping = new AbortController()
  let engine: RenderEngine | undefined
  let hasFailed = false
  const run = async () => {
    await begun
    await using opened = await open()
    engine = opened
    if (!stopping.signal.aborted) await runWorker(ports, opened, { settings: worker, signal: stopping.signal })
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
