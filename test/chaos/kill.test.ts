/** kill -9 at any moment: no render answered 202 is lost, no render ends twice, and no process or file is left. */
import { EventEmitter, once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACME_LIVE, invoice, manifestOf, PATIENT_LIVE } from '../fixture/manifests.ts'
import { IS_LONG } from '../run/form.ts'
import { HOSTILE, RESOURCES } from '../soak/document.ts'
import { membersOf, processes, treeOf } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { type EmbeddedService, spawnService, startEmbedded } from '../topology/embedded.ts'
import { ended, published, reaches, render, submit } from '../topology/service.ts'

const RENDERS = IS_LONG ? 200 : 60
const KILLS = IS_LONG ? 4 : 3
/** Renders that are not sent yet when the process is killed. */
const UNSENT = 10

/** Renders answered 202. */
interface Accepted {
  readonly ids: string[]
  /** Emits `id` for each. */
  readonly news: EventEmitter
}

/** Submits renders of both engines until `count` have been accepted, or until the service is down. */
async function submitMixed(service: EmbeddedService, { ids, news }: Accepted, count: number): Promise<void> {
  for (let index = ids.length; ids.length < count; index++) {
    const engine = index % 3 === 0 ? 'html' : 'react_pdf'
    try {
      ids.push(await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1 + (index % 40)), engine }))
      news.emit('id')
    } catch (error) {
      // The connection broke with the process: there was no answer, so nothing was promised.
      if (!(error instanceof TypeError)) throw error
      return
    }
  }
}

async function manifestsOf(service: EmbeddedService): Promise<Map<string, { outcome: { status: string } }>> {
  const folder = join(service.dataDir, 'artifacts', 'platen', 'manifest-by-hour')
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.json'))
  const entries = files.map(
    async (file) => [basename(file, '.json'), JSON.parse(await readFile(join(folder, file), 'utf8'))] as const,
  )
  return new Map(await Promise.all(entries))
}

test(`of ${RENDERS} mixed renders under ${KILLS} kills, each that was accepted ends once`, async () => {
  await using service = await startEmbedded()
  const accepted: Accepted = { ids: [], news: new EventEmitter() }
  for (let round = 1; round <= KILLS; round++) {
    const share = (RENDERS / KILLS) * round
    const senders = Array.from({ length: 4 }, () => submitMixed(service, accepted, share))
    // The kill comes at an event and not at a time: this many are accepted, and the others are under way.
    await Promise.race([Promise.all(senders), whenAccepted(accepted, share - UNSENT)])
    await service.kill()
    await Promise.all(senders)
    await service.start()
  }
  await submitMixed(service, accepted, RENDERS)
  const { ids } = accepted
  expect(ids).toHaveLength(new Set(ids).size)
  expect(ids.length).toBeGreaterThanOrEqual(RENDERS)
  const outcomes: StatusRecord[] = []
  for (const id of ids) outcomes.push(await ended(service, ACME_LIVE, id))
  expect(outcomes.filter(({ status, error }) => status === 'failed' && error?.code !== 'render_crashed')).toEqual([])
  const manifests = await manifestsOf(service)
  for (const [index, id] of ids.entries()) expect(manifests.get(id)?.outcome.status).toBe(outcomes[index]?.status)
  expect(await filesUnder(join(service.dataDir, 'artifacts', '.tmp'))).toEqual([])
})

async function whenAccepted({ ids, news }: Accepted, count: number): Promise<void> {
  while (ids.length < count) await once(news, 'id')
}

async function filesUnder(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}

test('a render whose process was killed three times ends as render_crashed', async () => {
  await using service = await startEmbedded({ PLATEN_CHROMIUM: 'none', PLATEN_LOG_LEVEL: 'debug' })
  const id = await submit(service, PATIENT_LIVE, { template: 'busy', data: { rounds: 1e15 } })
  for (let kills = 0; kills < 3; kills++) {
    // After a restart the state is still "running" for a while, from the previous attempt.
    await poll(() => service.log()).until((log) => log.includes('render started'))
    await service.kill()
    await service.start()
  }
  expect(await ended(service, PATIENT_LIVE, id)).toMatchObject({ status: 'failed', error: { code: 'render_crashed' } })
})

describe('of one service', () => {
  let service: EmbeddedService
  beforeAll(async () => {
    service = await startEmbedded()
  })
  afterAll(() => service[Symbol.asyncDispose]())

  test('a data folder that a process holds is refused to a second, and free again when the first was killed', async () => {
    const second = spawnService({
      PLATEN_PORT: '0',
      PLATEN_DATA_DIR: service.dataDir,
      PLATEN_MANIFESTS_DIR: service.manifestsDir,
    })
    const complaint = Array.fromAsync(second.stderr)
    const code = await new Promise((resolve) => second.once('exit', resolve))
    expect(code).toBe(1)
    expect(Buffer.concat(await complaint).toString()).toMatch(/data folder.*another process/i)
    await service.kill()
    await service.start()
    expect((await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })).status).toBe(200)
  })

  test('no process stays behind after kill -9', async () => {
    const body = { template: 'invoice', data: invoice(1), engine: 'html' }
    expect((await render(service, ACME_LIVE, body)).status).toBe(200)
    expect(processesNaming(service.dataDir).length).toBeGreaterThan(0)
    await service.kill()
    await poll(() => processesNaming(service.dataDir)).until((left) => left.length === 0)
  })
})

/** Finds processes whose command line contains a path. The browser has its profile below the data folder. */
function processesNaming(path: string) {
  return processes().filter(({ command }) => command.includes(path))
}

describe('SIGTERM', () => {
  test('lets the render in hand be answered, however often it is sent, and exits 0', async () => {
    await using service = await startEmbedded({ PLATEN_LOG_LEVEL: 'debug' })
    const answer = render(service, PATIENT_LIVE, { template: 'busy', data: { rounds: 3e6 } })
    await running(service)
    service.signal('SIGTERM')
    service.signal('SIGTERM')
    const { status, headers } = await answer
    expect([status, headers.get('connection')]).toEqual([200, 'close'])
    service.signal('SIGTERM')
    expect(await service.exited()).toBe(0)
    expect(processesNaming(service.dataDir)).toEqual([])
  })

  test('leaves no process behind in the middle of renders that do not end, in a browser that hangs', async () => {
    await using service = await startEmbedded({ PLATEN_RENDER_SLOTS: '1' })
    await writeFile(join(service.manifestsDir, 'soak.yaml'), manifestOf(RESOURCES))
    await published(service, HOSTILE, 'endless-script')
    const begun = [
      { template: 'endless-component', data: {} },
      { template: 'endless-script', data: {}, engine: 'html' },
    ].map(async (body) => {
      const id = await submit(service, HOSTILE, body)
      await reaches(service, { key: HOSTILE, id, states: ['running'] })
    })
    await Promise.all(begun)
    const tree = treeOf(service.pid())
    const browser = tree.find(({ command }) => command.includes('--user-data-dir=') && !command.includes('--type='))
    process.kill(browser?.pid ?? 0, 'SIGSTOP')
    service.signal('SIGTERM')
    expect(await service.exited()).toBe(0)
    expect(browser).toBeDefined()
    expect(membersOf(browser?.group ?? 0)).toEqual([])
    expect(processesNaming(service.dataDir)).toEqual([])
  })
})

/** Resolves when a renderer has started a sync render. Its caller does not know the id yet. */
async function running(service: EmbeddedService): Promise<void> {
  while (!service.log().includes('render started')) await new Promise((resolve) => setTimeout(resolve, 20))
}
