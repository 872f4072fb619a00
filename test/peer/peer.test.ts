import { describe, expect, test } from 'vitest'
import { LAST_LINE } from '../bench/invoice.ts'
import { processes, treeOf } from '../soak/process-tree.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { cluster } from './contender/cluster.ts'
import { startProgram } from './peer.ts'
import { footprintOf, paced } from './turn.ts'

const AT_ONCE = { warmUpMs: 0, roundMs: 1 }

describe('a contender', () => {
  test('makes whole documents, uses memory, and leaves no process behind', async () => {
    const contender = await cluster('shell').start()
    const tree = contender.pids.flatMap(treeOf)
    const { sample, latenciesMs } = await contender.run({ rows: 3, count: 2, concurrency: 2 })
    const { peakBytes, meanBytes } = await footprintOf(contender, { rows: 3, count: 0, concurrency: 1 }, AT_ONCE)
    await contender[Symbol.asyncDispose]()

    const { text } = await inspectPdf(sample)
    expect(text).toContain('Item 3,')
    expect(text).toContain(LAST_LINE)
    expect(latenciesMs).toHaveLength(2)
    expect(peakBytes).toBeGreaterThanOrEqual(meanBytes)
    expect(meanBytes).toBeGreaterThan(50e6)
    // It has a browser.
    expect(tree.length).toBeGreaterThan(2)
    expect(processes().filter(({ pid }) => tree.some((member) => member.pid === pid))).toEqual([])
  })

  test.for([
    { what: 'ends instead of starting', command: ['sh', '-c', 'echo no engine; exit 1'], why: 'no engine' },
    { what: 'is not there', command: ['platen-no-such-program'], why: 'spawn platen-no-such-program ENOENT' },
  ] as const)('that $what says why', async ({ command, why }) => {
    const starting = startProgram(() => ({ command, readyPath: '/', path: '/', request: () => ({}) }))
    await expect(starting).rejects.toThrow(`it ended instead of starting: ${why}`)
  })

  test.for([
    { documentMs: 10, count: 100 },
    { documentMs: 300, count: 4 },
    { documentMs: 5000, count: 2 },
  ])('that takes $documentMs ms for a document makes $count of them in a round of a second', async (row) => {
    const counts: number[] = []
    const runner = paced(
      {
        pids: [],
        async run({ count }) {
          counts.push(count)
          const latenciesMs = Array.from({ length: count }, () => row.documentMs)
          return { elapsedMs: count * row.documentMs, latenciesMs, sample: new Uint8Array() }
        },
        async [Symbol.asyncDispose]() {},
      },
      { warmUpMs: 0, roundMs: 1000 },
    )
    const batch = { rows: 10, count: 0, concurrency: 2 }
    await runner.run(batch)
    await runner.run(batch)
    expect(counts).toEqual([2, row.count])
  })
})
