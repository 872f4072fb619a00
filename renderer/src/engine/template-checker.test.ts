import { setImmediate } from 'node:timers/promises'
import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { TemplateCode, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { expect, onTestFinished, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { FakeThread } from '../../../test/fixture/render/fake-thread.ts'
import { CHECK_BACK_OFF, CHECK_CPU_MS_MAX, CHECK_MS_MAX, CHECKS_AT_ONCE, HEAP_CHECK_MS } from './limit.ts'
import { CHECK_PATIENCE_MS, CHECK_THREADS_IDLE_MS, openTemplateChecker } from './template-checker.ts'
import type { ThreadMessage } from './thread/message.ts'
import type { PoolWorker } from './thread/start.ts'

/**
 * A thread that starts at once, and answers at once but for templates named `slow`, which the test ends, and `hanging`, which compute for as
 * long as the thread exists.
 */
class CheckThread extends FakeThread {
  readonly checked: string[] = []
  readonly #monotonic: () => number

  constructor(monotonic: () => number, cpuShare: number) {
    super(false)
    this.#monotonic = () => monotonic() * cpuShare
    queueMicrotask(() => this.say({ kind: 'loaded' }))
    this.on('asked', (message: ThreadMessage) => this.#receive(message))
  }
  override async cpuUsage() {
    return { user: this.#monotonic() * 1000, system: 0 }
  }
  #receive(message: ThreadMessage): void {
    if (message.kind !== 'check') return
    const { name } = message.check.source
    this.checked.push(name)
    if (name !== 'slow' && name !== 'hanging') this.answer()
  }
  answer(): void {
    this.say({ kind: 'done', value: [], keptBytes: 0 })
  }
}

/** A checker of threads that get `cpuShare` of a core. */
function aChecker({ cpuShare = 1, isSoonNeeded = false } = {}) {
  const clock = manualClock()
  const threads: CheckThread[] = []
  const spawn = () => {
    threads.push(new CheckThread(() => clock.monotonic(), cpuShare))
    // The pool uses no other members of a thread than these.
    return threads.at(-1) as unknown as PoolWorker
  }
  const checker = openTemplateChecker({ clock, spawn, isSoonNeeded })
  onTestFinished(() => checker[Symbol.asyncDispose]())
  return {
    clock,
    threads,
    alive: () => threads.filter(({ isAlive }) => isAlive).length,
    begun: () => threads.flatMap(({ checked }) => checked),
    check: (tenant: string, name: string, signal = NEVER) => checker.check(tenant, requestOf(name), signal),
  }
}

function requestOf(name: string): CheckRequest {
  const source: TemplateSource = { code: name as TemplateCode, name, version: 1, options: {}, reactPdf: '' }
  return { source, assets: [], variablesSchema: '{}' }
}

const SOUND = { faults: [], isFinal: true }

test('no thread is there before anything is checked, nor when nothing was for a while', async () => {
  const { clock, alive, check } = aChecker()
  await clock.advance(CHECK_THREADS_IDLE_MS)
  expect(alive()).toBe(0)
  expect(await check('acme', 'sound')).toEqual(SOUND)
  await clock.advance(CHECK_THREADS_IDLE_MS / 2)
  expect(await check('acme', 'sound')).toEqual(SOUND)
  await clock.advance(CHECK_THREADS_IDLE_MS - 1)
  expect(alive()).toBe(1)
  await clock.advance(CHECK_THREADS_IDLE_MS / 2)
  expect(alive()).toBe(0)
})

test('the first one is there before checks that are expected, and ends if none comes', async () => {
  const { clock, alive } = aChecker({ isSoonNeeded: true })
  expect(alive()).toBe(1)
  await clock.advance(2 * CHECK_THREADS_IDLE_MS)
  expect(alive()).toBe(0)
})

test('checks of several tenants follow each other on one thread, and one begins beside a check that takes long', async () => {
  const { clock, threads, alive, begun, check } = aChecker()
  const first = check('acme', 'slow')
  const second = check('globex', 'sound')
  await clock.advance(0)
  await clock.advance(CHECK_PATIENCE_MS - 1)
  expect([alive(), begun()]).toEqual([1, ['slow']])
  threads[0]?.answer()
  expect(await Promise.all([first, second])).toEqual([SOUND, SOUND])
  expect(alive()).toBe(1)
  void check('acme', 'slow')
  const beside = check('globex', 'sound')
  await clock.advance(0)
  await clock.advance(CHECK_PATIENCE_MS)
  expect([await beside, alive()]).toEqual([SOUND, 2])
})

test('a tenant whose templates hang has one thread, and others are checked meanwhile', async () => {
  const { clock, begun, check } = aChecker()
  const hanging = Array.from({ length: 3 }, () => check('hostile', 'hanging'))
  await clock.advance(0)
  expect(begun()).toEqual(['hanging'])
  expect(CHECKS_AT_ONCE).toBeGreaterThan(1)
  const sound = Array.from({ length: 10 }, (_, at) => check('honest', `sound-${at}`))
  await clock.advance(0)
  await clock.advance(CHECK_PATIENCE_MS)
  expect(await Promise.all(sound)).toEqual(sound.map(() => SOUND))
  expect(begun().filter((name) => name === 'hanging')).toHaveLength(1)
  await clock.advance(hanging.length * (CHECK_CPU_MS_MAX + 2 * HEAP_CHECK_MS))
  await Promise.all(hanging)
})

test('each template that computes without end is refused and told so, for good, and then all threads end', async () => {
  const { clock, alive, begun, check } = aChecker()
  const all = ['hanging', 'sound', 'hanging', 'hanging', 'last'].map((name) => check('acme', name))
  await clock.advance(0)
  await clock.advance(3 * (CHECK_CPU_MS_MAX + 2 * HEAP_CHECK_MS))
  const message = 'it could not be checked: it or its types take more than 6 s of CPU'
  const hung = { faults: [{ engine: 'react_pdf', message }], isFinal: true }
  expect(await Promise.all(all)).toEqual([hung, SOUND, hung, hung, SOUND])
  expect(begun()).toEqual(['hanging', 'sound', 'hanging', 'hanging', 'last'])
  await clock.advance(1.5 * CHECK_THREADS_IDLE_MS)
  expect(alive()).toBe(0)
})

test('on a machine so busy that a check gets no CPU, it has no answer, and its tenant waits longer each time', async () => {
  const { clock, begun, check } = aChecker({ cpuShare: 0.01 })
  const over = new AbortController()
  const all = Array.from({ length: 20 }, () => check('acme', 'hanging', over.signal))
  const starts: number[] = []
  for (let seen = 0; starts.length < 14; ) {
    await clock.advance(1000)
    if (begun().length > seen) starts.push(clock.monotonic())
    seen = begun().length
  }
  const message = 'it could not be checked: it had no answer after 30 s'
  expect(await all[0]).toEqual({ faults: [{ engine: 'react_pdf', message }], isFinal: false })
  const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0) - CHECK_MS_MAX)
  expect(waits).toEqual(waits.toSorted((one, other) => one - other))
  expect(waits[0]).toBeLessThanOrEqual(2000 + CHECK_BACK_OFF.msMin)
  expect(waits.at(-1)).toBeGreaterThanOrEqual(CHECK_BACK_OFF.msMax)
  over.abort(new Error('gone'))
  await Promise.allSettled(all)
  const mended = check('acme', 'sound')
  await clock.advance(CHECK_BACK_OFF.msMax + CHECK_MS_MAX)
  expect(await mended).toEqual(SOUND)
  expect(await check('acme', 'sound')).toEqual(SOUND)
})

test('a check that is no longer wanted does not wait for its turn, and one that runs is ended', async () => {
  const { clock, threads, begun, check } = aChecker()
  const over = new AbortController()
  const running = check('acme', 'hanging', over.signal)
  await clock.advance(0)
  await expect(check('acme', 'sound', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  over.abort(new Error('changed'))
  await expect(running).rejects.toThrow('changed')
  await setImmediate()
  expect([threads[0]?.isAlive, begun()]).toEqual([false, ['hanging']])
})
