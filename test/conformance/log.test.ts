import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLog } from '@platen/adapters/system/log.ts'
import { describeLog, type LogHarness } from './log.suite.ts'

describeLog('system', systemHarness)

async function systemHarness(): Promise<LogHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-log-'))
  const path = join(folder, 'log')
  const file = await open(path, 'w')
  return {
    open: (level) => openLog(level, file.fd),
    async lines() {
      const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line))
    },
    async [Symbol.asyncDispose]() {
      await file.close()
      await rm(folder, { recursive: true })
    },
  }
}
