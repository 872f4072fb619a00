/** The embedded topology: the service as `npm start` runs it, in its own process and with its own folders. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openFileArtifactStore } from '@platen/adapters/fs/artifact-store.ts'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteRenderLedger } from '@platen/adapters/sqlite/render-ledger.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { manifests } from '../fixture/manifests.ts'
import { processesWith } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { scaledTimeOptions } from '../time/scaled-time.ts'
import type { Stores, TestedService } from './service.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const MAIN = join(ROOT, 'embedded/src/main.ts')
/** Node options of the main thread in `npm start` and all images. */
export const MAIN_THREAD_OPTIONS = ['--max-semi-space-size=4']
/** Node options of their processes that render. `NODE_OPTIONS` does not accept this V8 option. */
export const RENDERING_OPTIONS = ['--no-allocation-site-pretenuring']
/** Their settings of glibc. */
export const MALLOC = { MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' }

/** As in `npm start` and the images: the cache of compiled code is beside the code, so that a new data folder has it, too. */
export const COMPILED = process.env['NODE_COMPILE_CACHE'] ?? join(ROOT, 'node_modules/.cache/compile')

export interface EmbeddedService extends TestedService {
  pid(): number
  /** Address of probes and metrics, if `PLATEN_METRICS_PORT` is set. */
  probesUrl(): string
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void
  exited(): Promise<number | null>
}

/**
 * Default manifests: those of the fixture. `env` overrides settings. Resolves when the service is ready; throws with its log when it exits
 * instead.
 */
export async function startEmbedded(env: Record<string, string> = {}, text = manifests()): Promise<EmbeddedService> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-embedded-'))
  const [dataDir, manifestsDir] = [join(folder, 'data'), join(folder, 'manifests')]
  await mkdir(manifestsDir)
  await writeFile(join(manifestsDir, 'all.yaml'), text)
  const settings = { PLATEN_PORT: '0', PLATEN_DATA_DIR: dataDir, PLATEN_MANIFESTS_DIR: manifestsDir, ...env }
  const remove = async () => {
    // A browser orphaned by a kill still writes for a moment.
    await poll(() => processesWith(folder).map(({ command }) => command)).until((left) => left.length === 0)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  let running = await launch(settings).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const service: EmbeddedService = {
    dataDir,
    manifestsDir,
    storedIn: [dataDir],
    openStores: (signal) => openStores(dataDir, signal),
    url: () => running.url,
    log: () => running.log(),
    pid: () => running.child.pid ?? 0,
    probesUrl: () => `http://127.0.0.1:${/"port":(\d+),"msg":"probe server started"/.exec(running.log())?.[1]}`,
    signal: (name) => running.child.kill(name),
    exited: () => running.exited,
    async stop() {
      running.child.kill('SIGTERM')
      const code = await running.exited
      if (code === null) throw new Error(`${running.child.signalCode} ended the service; its log:\n${running.log()}`)
      return code
    },
    async kill() {
      running.child.kill('SIGKILL')
      await running.exited
    },
    async start() {
      running = await launch(settings)
    },
    async [Symbol.asyncDispose]() {
      await service.kill()
      await remove()
    },
  }
  return service
}

/** On the manifests of `examples`, as a reader of the documents does. `key` is the key that it generates for acme. */
export async function startExamples(env: Record<string, string> = {}): Promise<EmbeddedService & { key: string }> {
  const manifestsDir = join(ROOT, 'examples')
  const service = await startEmbedded({ PLATEN_CHROMIUM: 'none', PLATEN_MANIFESTS_DIR: manifestsDir, ...env })
  const key = await readFile(join(service.dataDir, 'keys/team-acme.live-key'), 'utf8')
  return { ...service, manifestsDir, key: key.trim() }
}

async function openStores(dataDir: string, signal: AbortSignal): Promise<Stores> {
  const clock = systemClock()
  const urls = { publicUrl: () => '', urlKey: Buffer.alloc(32) }
  const artifacts = await openFileArtifactStore({ root: join(dataDir, 'artifacts'), clock, ...urls })
  const database = await openDatabase({ path: join(dataDir, 'platen.db'), signal })
  return {
    artifacts,
    report: (manifest) => sqliteRenderLedger(database, clock).complete(manifest, signal),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
  readonly exited: Promise<number | null>
  log(): string
}

async function launch(settings: Record<string, string>): Promise<Running> {
  const child = spawnService(settings)
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const lines = createInterface({ input: child.stdout })
  const ready = (async () => {
    for await (const line of lines) {
      const url = /^ready (http:\/\/\S+)$/.exec(line)?.[1]
      if (url !== undefined) return url
    }
    return undefined
  })()
  const url = await Promise.race([ready, exited.then(() => undefined)])
  if (url === undefined) throw new Error(`the service did not start:\n${log}`)
  return { child, url, exited, log: () => log }
}

/** Starts only the process of the service, for tests of failing starts. */
export function spawnService(
  settings: Record<string, string>,
  {
    program = [...MAIN_THREAD_OPTIONS, ...RENDERING_OPTIONS, MAIN],
    cwd = ROOT,
  }: { readonly program?: readonly string[]; readonly cwd?: string } = {},
) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('PLATEN_') && name !== 'NODE_OPTIONS',
  )
  const chromium = process.env['PLATEN_CHROMIUM']
  return spawn(process.execPath, program, {
    cwd,
    env: {
      ...Object.fromEntries(inherited),
      NODE_OPTIONS: scaledTimeOptions(),
      NODE_COMPILE_CACHE: COMPILED,
      ...MALLOC,
      ...(chromium && { PLATEN_CHROMIUM: chromium }),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
