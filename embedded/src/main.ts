/**
 * The composition root of the embedded service. Half of the start time is compiling code that the last start compiled already. So Node
 * keeps compiled code in the data folder; everything but the settings is loaded after that folder is known.
 */
import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { SETTINGS } from './config.ts'

if (import.meta.main) {
  keepCompiled()
  const { runService } = await import('./service.ts')
  const { exit } = await import('@platen/adapters/system/run.ts')
  // By now everything is closed. But when a browser ends while it opens a page, puppeteer leaves a timer of half a minute behind.
  await exit(await runService(process.env))
}

function keepCompiled(): void {
  try {
    const { dataDir } = SETTINGS.read(process.env)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    enableCompileCache(join(dataDir, 'compile-cache'))
  } catch {
    // The service itself reports faults of its settings or its folder.
  }
}
