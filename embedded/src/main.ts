/**
 * The composition root of the embedded service. Half of the start time would go to compiling the same code as at the last start. So Node
 * caches compiled code in the data folder, and everything else is loaded after that, even the settings.
 */
import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { DATA_DIR_DEFAULT } from './data-dir.ts'

if (import.meta.main) {
  keepCompiled(process.env['PLATEN_DATA_DIR'] || DATA_DIR_DEFAULT)
  const { runService } = await import('./service.ts')
  const { exit } = await import('@platen/adapters/system/run.ts')
  // Everything is closed. Leftovers of libraries, such as timers, must not delay the exit.
  await exit(await runService(process.env))
}

function keepCompiled(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    enableCompileCache(join(dataDir, 'compile-cache'))
  } catch {
    // The service itself reports faults of its folder.
  }
}
