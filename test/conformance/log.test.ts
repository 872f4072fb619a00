import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { openLog } from '@platen/adapters/system/log.ts'
import { flushed } from '@platen/adapters/system/log-output.ts'
import { describeLog, type LogHarness } from './log.suite.ts'

describeLog('system', systemHarness)

async function systemHarness(): Promise<LogHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-log-'))
  const path = join(folder, 'log')
  const file = createWriteStream(path)
  await once(file, 'open')
  return {
    open: (level) => openLog({ level, process: 'test', instance: 'test', stream: file }),
    async lines() {
      await flushed(file)
      const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
      return lines.map((line) => JSON.parse(line))
    },
    async [Symbol.asyncDispose]() {
      await finished(file.end())
      await rm(folder, { recursive: true })
    },
  }
}
