/** The embedded service from settings to exit code: it starts, becomes ready, and drains on a signal. */
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { unknownSettings } from '@platen/adapters/setting/setting.ts'
import { DataFolderLocked } from '@platen/adapters/sqlite/database.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { explain, forceStopSignal, stopSignal, untilAborted } from '@platen/adapters/system/run.ts'
import { SYNC_SLOTS } from '@platen/contract/limit.ts'
import { openEngines } from '@platen/renderer/engine/open-engines.ts'
import { type Config, SETTINGS } from './config.ts'

const COMPILED_KEPT_AFTER_MS = 2000

/** Runs until SIGTERM or SIGINT. The exit code is 0 after a clean stop, and 1 when the service could not start or continue. */
export async function runService(env: NodeJS.ProcessEnv): Promise<number> {
  const stop = stopSignal()
  let config: Config | undefined
  try {
    config = SETTINGS.read(env)
    const log = openLog(config.logLevel)
    const unknown = unknownSettings(env, SETTINGS)
    if (unknown.length > 0) log.warn({ settings: unknown }, 'unknown settings ignored')
    const clock = systemClock()
    await using engines = await openEngines({
      slots: config.renderSlots + SYNC_SLOTS,
      profileDir: join(config.dataDir, 'chromium'),
      chromium: config.chromium,
      egress: httpEgress({ clock, allowCidrs: config.egressAllowCidrs }),
      clock,
      log,
    })
    // Meanwhile another core loads the first thread.
    const { compose } = await import('./compose.ts')
    const forceStop = forceStopSignal(stop, { drainMs: config.drainMs, log })
    await using service = await compose({ config, clock, log, engines, forceStop, isDraining: () => stop.aborted })
    process.stdout.write(`ready ${service.url}\n`)
    const end = AbortSignal.any([stop, service.failed])
    // Node would write the cache at exit, but a kill may prevent that. It takes a third of a second, so it waits until the first requests
    // are served.
    clock.sleep(COMPILED_KEPT_AFTER_MS, end).then(flushCompileCache, () => undefined)
    await untilAborted(end)
    log.info({}, 'service drain started')
    return stop.aborted ? 0 : 1
  } catch (error) {
    process.stderr.write(`${explainStart(error, config)}\n`)
    return 1
  }
}

/** Tells a person at a terminal how to get the service started. */
function explainStart(error: unknown, config: Config | undefined): string {
  if (error instanceof DataFolderLocked) {
    return `the data folder ${config?.dataDir} is in use by another process; choose another with PLATEN_DATA_DIR`
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    const isOfMetrics = 'port' in error && error.port === config?.metricsPort
    const [setting, port = 0] = isOfMetrics
      ? ['PLATEN_METRICS_PORT', config?.metricsPort]
      : ['PLATEN_PORT', config?.port]
    return `port ${port} is taken; choose another with ${setting}, such as ${setting}=${port + 1}`
  }
  return explain(error)
}
