/**
 * What puppeteer-cluster does to its jobs when browsers fail. With its own concurrency classes, each of these cases lost a slot, a job or a
 * browser. The cluster is real; a launch of its own would fail the test, because it has no puppeteer.
 */
import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { type Browser, type Page, type PageEvents, EventEmitter as PuppeteerEmitter } from 'puppeteer'
import { Cluster } from 'puppeteer-cluster'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { openPrintCluster } from './concurrency.ts'
import type { PrintDocument } from './document/load.ts'
import { BrowserLost } from './launch.ts'
import type { PrintedDocument, PrintPage } from './page.ts'
import type { PagePool } from './pool.ts'

const ACME = 'acme' as TenantId
const SLOTS = 2
// No test uses these.
const DOCUMENT = {
  html: '',
  options: {},
  date: 0,
  title: '',
  assets: [],
  isScripted: false,
  isMultiscript: false,
  missing: '',
} as PrintDocument
const PRINTED = { pdf: new Uint8Array([1]) } as PrintedDocument

const rejections: unknown[] = []
const onRejection = (reason: unknown) => void rejections.push(reason)
beforeEach(() => void process.on('unhandledRejection', onRejection))
afterEach(() => {
  process.off('unhandledRejection', onRejection)
  expect(rejections.splice(0)).toEqual([])
})

/** A page pool whose next prints behave as the test says. It counts the pages in use. */
class FakePool extends EventEmitter implements PagePool {
  inUse = 0
  /** For each page that was taken: whether it had to be in a browser of its own. */
  readonly apart: boolean[] = []
  /** For each page that was given back: whether its document succeeded. */
  readonly sound: boolean[] = []
  acquire: PagePool['acquire'] = async ({ hasOwnBrowser }) => {
    this.inUse += 1
    this.apart.push(hasOwnBrowser)
    return this.page()
  }
  print: PrintPage['print'] = async () => PRINTED

  release: PagePool['release'] = async (_page, isSound) => {
    this.inUse -= 1
    this.sound.push(isSound)
  }

  page(): PrintPage {
    return {
      browser: {
        browser: {} as Browser,
        budgetOf: () => ({ sessionId: '', renew() {} }),
        gone: NEVER,
        exit: () => ({ exitCode: null, signal: null }),
        kill: async () => {},
        ping: async () => {},
        activity: () => 0,
        processes: async () => [],
        memoryBytes: async () => undefined,
      },
      // What the cluster uses of it.
      page: new PuppeteerEmitter<PageEvents>() as Page,
      gone: NEVER,
      print: (...request) => this.print(...request),
      clear: async () => {},
      close: async () => true,
    }
  }
}

/** A cluster on the pool, and a print on one of its slots. */
async function aCluster(pool: FakePool) {
  const cluster = await openPrintCluster(pool, SLOTS)
  const print = (signal = NEVER): Promise<PrintedDocument> => cluster.print(ACME, DOCUMENT, signal)
  return { print, close: () => cluster[Symbol.asyncDispose]() }
}

/** Fails the test unless every slot prints, all at the same time. */
async function expectAllSlots(pool: FakePool, print: () => Promise<PrintedDocument>): Promise<void> {
  const all = Promise.withResolvers<void>()
  let busy = 0
  pool.print = async () => {
    busy += 1
    if (busy === SLOTS) all.resolve()
    await all.promise
    return PRINTED
  }
  expect(await Promise.all(Array.from({ length: SLOTS }, () => print()))).toEqual([PRINTED, PRINTED])
}

test.for<[string, (pool: FakePool) => void]>([
  [
    'no browser that starts (the relaunch that failed wedged every later job)',
    (pool) => {
      pool.acquire = () => Promise.reject(new ServiceError('render_crashed', 'no browser could be started'))
    },
  ],
  [
    'a page that crashes (it was noticed at the time-out only)',
    (pool) => {
      pool.print = () => Promise.reject(new ServiceError('render_crashed', 'the page crashed while it rendered'))
    },
  ],
  [
    'a template that is at fault',
    (pool) => {
      pool.print = () => Promise.reject(new ServiceError('template_error', 'x'))
    },
  ],
])('%s fails its job at once, and all slots come back', async ([, breakIt]) => {
  const pool = new FakePool()
  const { acquire, print: sound } = pool
  const { print, close } = await aCluster(pool)
  breakIt(pool)
  for (let round = 0; round < SLOTS * 3; round += 1) await expect(print()).rejects.toBeInstanceOf(ServiceError)
  Object.assign(pool, { acquire, print: sound })
  await expectAllSlots(pool, print)
  expect(pool.inUse).toBe(0)
  await close()
})

test('a document that loses its browser is begun again in one of its own, once, and its caller sees nothing of it', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const failure = new ServiceError('render_crashed', 'the browser ended')
  let losses = 1
  pool.print = async () => {
    losses -= 1
    if (losses >= 0) throw new BrowserLost(failure)
    return PRINTED
  }
  expect(await print()).toBe(PRINTED)
  losses = 9
  await expect(print()).rejects.toBe(failure)
  expect([pool.apart, losses, pool.inUse]).toEqual([[false, true, false, true], 7, 0])
  await expectAllSlots(pool, print)
  await close()
})

test('a document whose browser gives it no page is begun in one of its own', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const { acquire } = pool
  pool.acquire = async (request, signal) => {
    if (!request.hasOwnBrowser) throw new BrowserLost(new ServiceError('render_crashed', 'no page'))
    return await acquire(request, signal)
  }
  expect(await print()).toBe(PRINTED)
  expect(pool.inUse).toBe(0)
  await close()
})

test('a browser that takes longer than five seconds for a context is waited for (it was repaired in circles)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const held = Promise.withResolvers<PrintPage>()
  const { acquire } = pool
  let takes = 0
  pool.acquire = () => {
    takes += 1
    return held.promise
  }
  const printing = print()
  // Longer than the cluster's own timeout, which is fixed.
  await vi.advanceTimersByTimeAsync(20_000)
  pool.inUse += 1
  held.resolve(pool.page())
  expect(await printing).toBe(PRINTED)
  expect([takes, pool.inUse]).toEqual([1, 0])
  pool.acquire = acquire
  const slots = expectAllSlots(pool, print)
  await vi.advanceTimersByTimeAsync(1000)
  await slots
  await close()
})

test('a job that is given up ends its work, and its slot prints again (it went on beside the next one)', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const controller = new AbortController()
  let ended = 0
  pool.print = async (_document, signal) => {
    await once(signal, 'abort')
    ended += 1
    throw signal.reason
  }
  const given = Array.from({ length: SLOTS }, () => print(controller.signal))
  const outcomes = Promise.allSettled(given)
  while (pool.inUse < SLOTS) await setImmediate()
  controller.abort(new Error('deadline'))
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([ended, pool.inUse]).toEqual([SLOTS, 0])
  await expectAllSlots(pool, print)
  await close()
})

test('a cluster that is closed with jobs waiting begins none of them (it launched a browser that nobody closed)', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const controller = new AbortController()
  pool.print = async (_document, signal) => {
    await once(signal, 'abort')
    throw signal.reason
  }
  const outcomes = Promise.allSettled(Array.from({ length: SLOTS + 2 }, () => print(controller.signal)))
  while (pool.inUse < SLOTS) await setImmediate()
  await close()
  controller.abort(new Error('the html engine was closed'))
  expect((await outcomes).map(({ status }) => status)).toEqual(Array.from({ length: SLOTS + 2 }, () => 'rejected'))
  expect([pool.apart.length, pool.inUse]).toEqual([SLOTS, 0])
})

test('a job that the cluster itself abandons ends with its page (it went on beside the next one)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const held = Promise.withResolvers<PrintedDocument>()
  pool.print = () => held.promise
  const printing = expect(print()).rejects.toThrow('Timeout')
  await vi.advanceTimersByTimeAsync(2 ** 31 - 1)
  await printing
  expect([pool.inUse, pool.sound]).toEqual([0, [false]])
  held.resolve(PRINTED)
  await expectAllSlots(pool, print)
  await close()
})

test('documents that are queued together each print on the page that was taken for them', async () => {
  const pool = new FakePool()
  const cluster = await openPrintCluster(pool, SLOTS)
  const tenants = ['a', 'b', 'c', 'd', 'e'] as TenantId[]
  // The first page is the last to come, and one document gets none.
  const first = Promise.withResolvers<void>()
  pool.acquire = async ({ tenant }) => {
    if (tenant === 'a') await first.promise
    if (tenant === 'c') throw new ServiceError('render_crashed', 'no browser could be started')
    if (tenant === 'e') first.resolve()
    const print: PrintPage['print'] = async ({ title }) => ({ ...PRINTED, pdf: Buffer.from(`${title} for ${tenant}`) })
    return { ...pool.page(), print }
  }
  const outcomes = tenants.map((title) =>
    cluster.print(title, { ...DOCUMENT, title }, NEVER).then(
      ({ pdf }) => Buffer.from(pdf).toString(),
      ({ code }: ServiceError) => code,
    ),
  )
  expect(await Promise.all(outcomes)).toEqual(['a for a', 'b for b', 'render_crashed', 'd for d', 'e for e'])
  await cluster[Symbol.asyncDispose]()
})

test('documents that get no page leave their jobs to the next ones, and none to the queue', async () => {
  const execute = vi.spyOn(Cluster.prototype, 'execute')
  onTestFinished(() => execute.mockRestore())
  const pool = new FakePool()
  const { acquire } = pool
  const { print, close } = await aCluster(pool)
  pool.acquire = () => Promise.reject(new ServiceError('render_crashed', 'no browser could be started'))
  for (let round = 0; round < 2; round += 1) {
    const outcomes = await Promise.allSettled(Array.from({ length: SLOTS * 3 }, () => print()))
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: SLOTS * 3 }, () => 'rejected'))
    expect(execute).toHaveBeenCalledTimes(SLOTS * 3)
  }
  Object.assign(pool, { acquire })
  await expectAllSlots(pool, print)
  await close()
})

test('a page that prints many documents is given back as sound, and without listeners of those that ended', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  const page = pool.page()
  pool.acquire = async () => page
  for (let round = 0; round < 3; round += 1) await print()
  expect([page.page.listenerCount('error'), pool.sound]).toEqual([0, [true, true, true]])
  await close()
})

test('a job begins in the turn of the event loop in which it is queued (it waited up to ten milliseconds)', async () => {
  const pool = new FakePool()
  const { print, close } = await aCluster(pool)
  // The first jobs start the workers.
  await expectAllSlots(pool, print)
  const ended: PrintedDocument[] = []
  const run = async () => {
    for (let round = 0; round < 3; round += 1) ended.push(await print())
  }
  void run()
  await setImmediate()
  expect(ended).toEqual([PRINTED, PRINTED, PRINTED])
  await close()
})
