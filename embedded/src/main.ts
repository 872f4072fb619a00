/**
 * The composition root of the embedded service. Half of a start is compiling what the last start has compiled: so Node keeps that
 * in the data folder, and loads everything but the settings when it knows where.
 */
import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { readConfig } from './config.ts'

if (import.meta.main) {
  keepCompiled()
  const { runService } = await import('./service.ts')
  const { exit } = await import('@platen/adapters/system/run.ts')
  // Everything is closed by then; but puppeteer leaves a timer of half a minute behind where its browser ends while it opens a page.
  await exit(await runService(process.env))
}

function keepCompiled(): void {
  try {
    const { dataDir } = readConfig(process.env)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    enableCompileCache(join(dataDir, 'compile-cache'))
  } catch {
    // The service says what is wrong with its settings or its folder.
  }
}
