import type { CheckFault, CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { Egress } from '@platen/contract/port/egress.ts'
import type { EngineMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { findChromium } from '../browser/executable.ts'
import { BROWSER_IDLE_MS_MAX } from '../browser/limit.ts'
import { availabilityOfAll } from '../port/availability.ts'
import type { RenderEngine } from '../port/engine.ts'
import { defaultFaces, type FontFace } from '../template/asset/font/default-fonts.ts'
import { withMemory } from '../template/asset/font/shared-font.ts'
import type { HtmlEngineSettings } from './html.ts'
import { LAST_THREAD_PATIENCE_MS } from './limit.ts'
import { openReactPdfEngine } from './react-pdf.ts'
import { openRemoteFiles, type RemoteFiles } from './remote-files.ts'
import type { TaskKind } from './thread/message.ts'
import { spawnThreadFor } from './thread/start.ts'
import { openThreadPool, type ThreadPool, type ThreadPoolOptions } from './thread-pool.ts'

/** How long an html template may wait to be filled before a second thread starts for it. Most are filled in a few milliseconds. */
const FILL_PATIENCE_MS = 20

export interface EnginesOptions {
  /** Per engine. */
  readonly slots: number
  /** The folder of browser profiles. Once it resolves, profiles of an earlier process are removed there. */
  readonly profileDir: string | Promise<string>
  /** Path of the browser. `none` means no html engine, absent means the browser that is found. */
  readonly chromium: string | undefined
  /** The kinds of tasks that will come; absent means all. Tasks of other kinds fail. */
  readonly kinds?: readonly TaskKind[]
  /**
   * When the threads of react_pdf start, if no render needs one before and there is a browser. If both start at once, they compete for the
   * cores, and each delays the first document of the other. Absent means at once.
   */
  readonly reactPdfAfter?: Promise<unknown>
  readonly egress: Egress
  readonly clock: Clock
  readonly log: Log
}

/** Closing it ends the threads, and also the browser if it still runs. */
export interface Engines extends AsyncDisposable {
  readonly check: (request: CheckRequest, signal: AbortSignal) => Promise<readonly CheckFault[]>
  readonly openReactPdf: () => RenderEngine
  /** The first call starts a browser; all calls return the same engine. Absent if there is no browser. */
  readonly openHtml?: () => Promise<RenderEngine>
  /** Counts from now on: the engines start before there are metrics. */
  readonly measure: (meter: EngineMeter) => void
}

/** Starts the threads without waiting for them. Throws if the configured browser is not an executable file. */
export async function openEngines(options: EnginesOptions): Promise<Engines> {
  const { slots, chromium, kinds = ['react_pdf', 'fill', 'check'] } = options
  const executablePath = chromium === 'none' ? undefined : await findChromium({ configured: chromium })
  const late: { meter?: EngineMeter } = {}
  const meter: EngineMeter = {
    restarted: (part, reason) => late.meter?.restarted(part, reason),
    launching: (launch, signal) => late.meter?.launching(launch, signal) ?? launch(),
  }
  const faces = defaultFaces()
  const pools = openPools(options, {
    kinds: executablePath === undefined ? kinds.filter((kind) => kind !== 'fill') : kinds,
    faces: withMemory(faces),
    meter,
  })
  const remote = openRemoteFiles(options)
  let html: Promise<RenderEngine> | undefined
  return {
    check: (check, signal) => pools.layout.run({ kind: 'check', check }, signal),
    openReactPdf: () => openReactPdfEngine({ pool: pools.layout, slots, remote }),
    ...(executablePath !== undefined && {
      openHtml() {
        html ??= openHtml(options, { executablePath, faces, pool: pools.fill, remote, meter })
        return html
      },
    }),
    measure(measuring) {
      late.meter = measuring
    },
    async [Symbol.asyncDispose]() {
      const opened = await html?.catch(() => undefined)
      await opened?.[Symbol.asyncDispose]()
      await Promise.all([pools.layout[Symbol.asyncDispose](), pools.fill[Symbol.asyncDispose]()])
    },
  }
}

interface PoolParts {
  readonly kinds: readonly TaskKind[]
  readonly faces: readonly FontFace[]
  readonly meter: EngineMeter
}

interface Pools {
  readonly layout: ThreadPool
  readonly fill: ThreadPool
}

/**
 * Html templates are filled in separate threads, where they never wait for a long layout. Such a thread takes a third of the memory of a
 * layout thread, and one serves several slots. It ends when the browser does.
 */
function openPools({ slots, clock, reactPdfAfter }: EnginesOptions, { kinds, faces, meter }: PoolParts): Pools {
  const open = (own: readonly TaskKind[], options: Pick<ThreadPoolOptions, 'patienceMs' | 'restMs' | 'startsAfter'>) =>
    openThreadPool({
      size: slots,
      clock,
      meter,
      spawn: spawnThreadFor(own, faces),
      lastPatienceMs: LAST_THREAD_PATIENCE_MS,
      ...options,
    })
  const fill = kinds.includes('fill')
    ? open(['fill'], { patienceMs: FILL_PATIENCE_MS, restMs: BROWSER_IDLE_MS_MAX })
    : undefined
  const others = kinds.filter((kind) => kind !== 'fill')
  const later = fill !== undefined && reactPdfAfter !== undefined && { startsAfter: reactPdfAfter }
  const layout = fill !== undefined && others.length === 0 ? fill : open(others, { ...later })
  return { layout, fill: fill ?? layout }
}

interface HtmlParts {
  readonly executablePath: string
  readonly faces: readonly FontFace[]
  readonly pool: ThreadPool
  readonly remote: RemoteFiles
  readonly meter: EngineMeter
}

async function openHtml(
  { slots, profileDir, clock, log }: EnginesOptions,
  { executablePath, faces, pool, remote, meter }: HtmlParts,
): Promise<RenderEngine> {
  const isSandboxed = process.getuid?.() !== 0
  if (!isSandboxed) log.warn({}, 'chromium sandbox disabled, running as root')
  const fill: HtmlEngineSettings['fill'] = (work, signal) => pool.run({ kind: 'fill', work }, signal)
  const parts = { executablePath, faces, slots, fill, remote, clock, profileDir, isSandboxed, log, meter }
  // Loads puppeteer. A process without this engine does not need it.
  const { openHtmlEngine } = await import('./html.ts')
  const engine = await openHtmlEngine(parts)
  return { ...engine, ...availabilityOfAll([pool, engine]) }
}
