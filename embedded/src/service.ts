import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { readLogLevel } from '@platen/adapters/setting/process.ts'
import { unknownSettings } from '@platen/adapters/setting/setting.ts'
import { warnOfMissingLimits } from '@platen/adapters/setting/slots.ts'
import { DataFolderLocked, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { limitMainThreadOnly } from '@platen/adapters/system/heap.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { logEverything, reportFailure } from '@platen/adapters/system/report.ts'
import { exitCrashed, forceStopSignal, stopSignal, untilAborted } from '@platen/adapters/system/run.ts'
import { SYNC_SLOTS } from '@platen/contract/domain/limit.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { type Config, SETTINGS } from './config.ts'
import { openDataFolder } from './store/data-folder.ts'

const COMPILED_KEPT_AFTER_MS = 2000
/** With more cores the first threads of both engines do not delay each other. */
const FEW_CORES = 2
/** Delay of the react_pdf thread after the start. A first html document needs both cores for a third of that. */
const FIRST_HTML_MS = 300
const NEVER = new AbortController().signal

/** Runs until SIGTERM or SIGINT. The exit code is 0 after a clean stop, and 1 when the service could not start or continue. */
export async function runService(env: NodeJS.ProcessEnv): Promise<number> {
  limitMainThreadOnly()
  const log = openLog({ process: 'embedded', level: readLogLevel(env) })
  logEverything(log, exitCrashed)
  const stop = stopSignal()
  let config: Config | undefined
  try {
    config = readConfig(env, log)
    const clock = systemClock()
    const { dataDir } = config
    await openDataFolder(dataDir, log)
    await using opened = new AsyncDisposableStack()
    // The lock of the database reserves the folder. Before that, no file in it may be touched, such as the browser's profile. So the
    // database's thread starts first, and this one loads the engines meanwhile.
    const opening = openDatabase({ path: join(dataDir, 'platen.db'), signal: NEVER })
    opened.defer(() => opening.then((database) => database[Symbol.asyncDispose](), ignored))
    const profileDir = opening.then(() => join(dataDir, 'chromium'))
    profileDir.catch(ignored)
    const composed = Promise.withResolvers<void>()
    const { openEngines } = await import('@platen/renderer/engine/open-engines.ts')
    const { httpEgress } = await import('@platen/adapters/http/egress.ts')
    await using engines = await openEngines({
      slots: config.renderSlots.count + SYNC_SLOTS,
      profileDir,
      // There is one slot per core.
      ...(config.renderSlots.count <= FEW_CORES && {
        reactPdfAfter: composed.promise.then(() => clock.sleep(FIRST_HTML_MS, NEVER)),
      }),
      chromium: config.chromium,
      // Publish checks have threads of their own.
      kinds: ['react_pdf', 'fill'],
      egress: httpEgress({ clock, allowCidrs: config.egressAllowCidrs }),
      clock,
      log,
    })
    // Begins the browser's process. Other cores start it and load the first thread, while this one loads modules. The engine's worker
    // reports failures.
    await (engines.openHtml?.() ?? profileDir).catch(ignored)
    const database = await opening
    const { compose } = await import('./compose.ts')
    const forceStop = forceStopSignal(stop, { drainMs: config.drainMs, log })
    await using service = await compose({
      config,
      clock,
      log,
      database,
      engines,
      forceStop,
      isDraining: () => stop.aborted,
    })
    composed.resolve()
    process.stdout.write(`ready ${service.url}\n`)
    log.info({ url: service.url }, 'process started')
    await serve(AbortSignal.any([stop, service.failed]), clock)
    log.info({}, 'drain started')
    return stop.aborted ? 0 : 1
  } catch (error) {
    reportFailure(log, explainedStart(error, config))
    return 1
  }
}

function ignored(): void {}

function readConfig(env: NodeJS.ProcessEnv, log: Log): Config {
  const config = SETTINGS.read(env)
  const unknown = unknownSettings(env, SETTINGS)
  if (unknown.length > 0) log.warn({ settings: unknown }, 'unknown settings ignored')
  warnOfMissingLimits(config.renderSlots, log)
  return config
}

async function serve(end: AbortSignal, clock: Clock): Promise<void> {
  // Node would write the cache only at exit, and a kill could prevent that. Writing takes a third of a second, so the first requests come
  // first.
  clock.sleep(COMPILED_KEPT_AFTER_MS, end).then(flushCompileCache, ignored)
  await untilAborted(end)
}

/** Adds what to do about the error, where that is known. */
function explainedStart(cause: unknown, config: Config | undefined): unknown {
  if (cause instanceof DataFolderLocked) {
    const { dataDir } = config ?? {}
    return new Error(`the data folder ${dataDir} is in use; choose another with PLATEN_DATA_DIR`, { cause })
  }
  if (cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE') {
    const isOfMetrics = 'port' in cause && cause.port === config?.metricsPort
    const [setting, port = 0] = isOfMetrics
      ? ['PLATEN_METRICS_PORT', config?.metricsPort]
      : ['PLATEN_PORT', config?.port]
    const remedy = `choose another with ${setting}, such as ${setting}=${port + 1}`
    return new Error(`port ${port} is taken; ${remedy}`, { cause })
  }
  return cause
}
