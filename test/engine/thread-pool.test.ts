import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { LOW_NICENESS, RENDER_THREAD_IDLE_MS } from '@platen/renderer/engine/limit.ts'
import type { RenderTask } from '@platen/renderer/engine/thread/message.ts'
import { type Spawn, spawnThreadFor } from '@platen/renderer/engine/thread/start.ts'
import { openThreadPool, type ThreadPool, type ThreadPoolOptions } from '@platen/renderer/engine/thread-pool.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { anAsset, aPng } from '../fixture/asset.ts'
import { NEVER } from '../fixture/build.ts'
import { aWork, type WorkFields } from './react-pdf/react-pdf-fixture.ts'

/** A pool of one task at a time, of all tests that leave it as they found it. */
let shared: ThreadPool
beforeAll(() => {
  shared = openThreadPool({ size: 1, clock: systemClock() })
})
afterAll(() => shared[Symbol.asyncDispose]())

/** A pool of the test's own. */
function aPool(options: Partial<ThreadPoolOptions> = {}): ThreadPool {
  const pool = openThreadPool({ size: 1, clock: systemClock(), ...options })
  onTestFinished(() => pool[Symbol.asyncDispose]())
  return pool
}

function task(fields: WorkFields = {}): Extract<RenderTask, { kind: 'react_pdf' }> {
  return { kind: 'react_pdf', work: aWork(fields) }
}

/** Each step is below every limit of the compiler, and takes it half a second and more. */
const ENDLESS_TYPES = [
  "type Count<Steps extends any[]> = Steps['length'] extends 999 ? Steps : Count<[...Steps, 1]>",
  ...Array.from({ length: 1000 }, (_, at) => `declare const a${at}: Count<[${at}]>; a${at}.x`),
].join('\n')

const ANY_OBJECT = '{"type":"object"}'

describe('a task that never ends', () => {
  test.for([
    ['a loop', { source: 'for (;;);' }],
    ['a loop where QuickJS does not look up', { source: 'Array.prototype.indexOf.call({ length: 2 ** 50 }, 1)' }],
    ['a regular expression', { source: '/^(a+)+$/.test("a".repeat(60) + "b")' }],
    ['a loop in a render function', { document: '<Page><Text render={() => { for (;;); }} /></Page>' }],
    ['a loop in what reads its error', { source: 'throw { get message() { for (;;); } }' }],
  ] as const)('is ended by its signal: %s', async ([, fields]) => {
    await shared.run(task(), NEVER)
    const reason = new Error('enough')
    const ended = new AbortController()
    const running = shared.run(task(fields), ended.signal)
    // Long enough to be well inside, short beside the deadline of any render.
    setTimeout(() => ended.abort(reason), 300)
    await expect(running).rejects.toBe(reason)
    const { pdf } = await shared.run(task(), NEVER)
    expect(pdf.byteLength).toBeGreaterThan(1000)
  })

  test('is ended by its signal: types that the check computes', async () => {
    const { template } = aWork({ source: `${ENDLESS_TYPES}\nexport default () => null` })
    const reason = new Error('enough')
    const ended = new AbortController()
    const check = { source: template, assets: [], variablesSchema: ANY_OBJECT }
    const sound = { ...check, source: aWork({ source: 'export default () => null' }).template }
    // It loads the compiler.
    expect(await shared.run({ kind: 'check', check: sound }, NEVER)).toEqual([])
    const running = shared.run({ kind: 'check', check }, ended.signal)
    // Well inside, and long before it has used its memory, which takes some seconds. It would take minutes.
    setTimeout(() => ended.abort(reason), 500)
    await expect(running).rejects.toBe(reason)
    expect(await shared.run({ kind: 'check', check: sound }, NEVER)).toEqual([])
  })

  test('does not hold up what runs beside it', async () => {
    const pool = aPool({ size: 2 })
    const ended = new AbortController()
    const endless = pool.run(task({ source: 'for (;;);' }), ended.signal)
    for (let round = 0; round < 3; round += 1)
      expect((await pool.run(task(), NEVER)).pdf.byteLength).toBeGreaterThan(1000)
    ended.abort(new Error('enough'))
    await expect(endless).rejects.toThrow('enough')
  })
})

describe('a task', () => {
  test('whose signal has aborted is not begun', async () => {
    await expect(shared.run(task(), AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })

  test('that waits leaves the line when its signal aborts', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const running = shared.run(task({ source: 'for (;;);' }), first.signal)
    const waiting = shared.run(task(), second.signal)
    second.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    first.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })

  test('that needs more memory than a thread has fails as the template’s fault, and the next one runs', async () => {
    const pool = aPool({ heapMibMax: 128 })
    const hog = '<Page>{Array.from({ length: 90_000 }, (_, row) => <Text key={row}>row</Text>)}</Page>'
    await expect(pool.run(task({ document: hog }), NEVER)).rejects.toMatchObject({
      code: 'template_error',
      message: 'the document needs more than 128 MiB of memory',
    })
    expect((await pool.run(task(), NEVER)).pdf.byteLength).toBeGreaterThan(1000)
  })

  test('is charged for the buffers it fills beside its heap', async () => {
    const pool = aPool({ heapMibMax: 192 })
    const pixels = aPng({ width: 5000, height: 5000, pixels: Buffer.alloc(5000 * 20_001) })
    const large = task({
      document: '<Page><Image src="asset:large.png" /></Page>',
      assets: [anAsset('large.png', pixels)],
    })
    await expect(pool.run(large, NEVER)).rejects.toMatchObject({
      code: 'template_error',
      message: 'the document needs more than 192 MiB of memory',
    })
  })

  test('may be to fill html', async () => {
    const work = aWork({ data: { name: 'Zoë' } })
    const template = { ...work.template, html: { template: '<p>{{ name }}</p>', javascript: false } }
    const filled = await shared.run({ kind: 'fill', work: { ...work, template } }, NEVER)
    expect(filled).toEqual({
      html: '<p>Zoë</p>',
      isMultiscript: false,
      missing: '',
      absent: [],
      unloaded: [],
      damaged: [],
      damagedInEdges: [],
      linted: { warnings: [], questions: '[]' },
    })
  })

  test('tells of what it was given no more than is shown of a failure, be it a render or a check', async () => {
    const work = aWork({ document: "<Page><View {...{ ['x'.repeat(1e7)]: 1 }} /></Page>" })
    const shown = expect.stringMatching(/^.{1000}$/)
    await expect(shared.run({ kind: 'react_pdf', work }, NEVER)).rejects.toMatchObject({ message: shown })
    const check = { source: work.template, assets: [], variablesSchema: ANY_OBJECT, sampleData: '{}' }
    expect(await shared.run({ kind: 'check', check }, NEVER)).toEqual([{ engine: 'react_pdf', message: shown }])
  })

  test('may be to check a template', async () => {
    const { template } = aWork({ source: 'export const a = 1' })
    expect(
      await shared.run({ kind: 'check', check: { source: template, assets: [], variablesSchema: ANY_OBJECT } }, NEVER),
    ).toEqual([{ engine: 'react_pdf', message: 'template.tsx: the template has no component as its default export' }])
  })
})

describe('a thread for checks', () => {
  const checking = () => aPool({ spawn: spawnThreadFor(['check']) })

  test('checks, the first of them and those after it', async () => {
    const pool = checking()
    const { template } = aWork({ source: 'export default () => null' })
    const check = { kind: 'check', check: { source: template, assets: [], variablesSchema: ANY_OBJECT } } as const
    const first = await pool.run(check, NEVER)
    await pool.ready(NEVER)
    expect(await pool.run(check, NEVER)).toEqual(first)
  })

  test('renders nothing', async () => {
    await expect(checking().run(task(), NEVER)).rejects.toThrow('this thread is not for tasks of the kind react_pdf')
  })
})

test('a thread for fills fills, and loads nothing to render with', async () => {
  const pool = aPool({ spawn: spawnThreadFor(['fill']) })
  const work = aWork({ source: '' })
  const filling = {
    ...work,
    template: { ...work.template, html: { template: '<p>{{ 1 | plus: 1 }}</p>', javascript: false } },
  }
  expect((await pool.run({ kind: 'fill', work: filling }, NEVER)).html).toContain('<p>2</p>')
  await expect(pool.run(task(), NEVER)).rejects.toThrow('this thread is not for tasks of the kind react_pdf')
})

test.runIf(process.platform === 'linux')('a thread of low priority lowers its own alone, from its start', async () => {
  const before = nicenessOfThreads()
  const thread = spawnThreadFor(['check'])(64, true)
  onTestFinished(async () => void (await thread.terminate()))
  await new Promise<void>((resolve) => thread.once('message', () => resolve()))
  const after = nicenessOfThreads()
  const added = [...after].flatMap(([id, niceness]) => (before.has(id) ? [] : [niceness]))
  expect(added).toContain(Math.min(getPriority() + LOW_NICENESS, 19))
  for (const [id, niceness] of after) expect(niceness).toBe(before.get(id) ?? niceness)
})

/** Of each thread of this process. */
function nicenessOfThreads(): ReadonlyMap<number, number> {
  const ids = readdirSync('/proc/self/task').map(Number)
  return new Map(ids.flatMap(nicenessOf))
}

/** Empty if the thread has just ended. */
function nicenessOf(id: number): readonly (readonly [number, number])[] {
  try {
    return [[id, getPriority(id)]]
  } catch {
    return []
  }
}

describe('a pool', () => {
  test('replaces a thread after its last render without missing a task', async () => {
    const pool = aPool({ rendersMax: 2 })
    for (let round = 0; round < 7; round += 1)
      expect((await pool.run(task(), NEVER)).pdf.byteLength).toBeGreaterThan(1000)
  })

  test('that is closed rejects what runs, what waits and what comes', async () => {
    const pool = aPool()
    const tasks = [pool.run(task({ source: 'for (;;);' }), NEVER), pool.run(task(), NEVER)]
    const outcomes = Promise.allSettled(tasks)
    await pool[Symbol.asyncDispose]()
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(pool.run(task(), NEVER)).rejects.toThrow('the threads are closed')
  })
})

test('a pool at rest is available after its last thread has exited, and does the next task', async () => {
  const clock = systemClock()
  let passedMs = 0
  const restless = {
    ...clock,
    monotonic: () => clock.monotonic() + passedMs,
    sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms === RENDER_THREAD_IDLE_MS / 4 ? 1 : ms, signal),
  }
  const exits: Promise<unknown>[] = []
  const spawn: Spawn = (heapMibMax, isLow) => {
    const worker = spawnThreadFor(['react_pdf'])(heapMibMax, isLow)
    exits.push(new Promise((resolve) => worker.once('exit', resolve)))
    return worker
  }
  const pool = aPool({ clock: restless, restMs: RENDER_THREAD_IDLE_MS, spawn })
  await pool.run(task(), NEVER)
  passedMs = RENDER_THREAD_IDLE_MS
  await exits[0]
  expect(pool.state()).toBe('running')
  await pool.ready(NEVER)
  expect((await pool.run(task(), NEVER)).pdf.byteLength).toBeGreaterThan(1000)
})
