/** The bare libraries run in processes of their own, as the service does; batches go in and timings come out over Node's own channel. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Batch, Contender, Timing } from './measure.ts'

/** Runs one program of this folder as a contender. With several processes a batch is shared out among them. */
export async function contend(program: string, args: readonly string[] = [], processes = 1): Promise<Contender> {
  const children = Array.from({ length: processes }, () =>
    fork(new URL(program, import.meta.url), args, {
      env: { ...process.env, NODE_ENV: 'production' },
      serialization: 'advanced',
    }),
  )
  // Each says so when it has loaded its library.
  await Promise.all(children.map((child) => once(child, 'message')))
  return {
    pids: children.flatMap(({ pid }) => pid ?? []),
    async run(batch) {
      const lanes = children.slice(0, Math.min(processes, batch.concurrency))
      const share = {
        ...batch,
        count: Math.ceil(batch.count / lanes.length),
        concurrency: Math.ceil(batch.concurrency / lanes.length),
      }
      const timings = await Promise.all(
        lanes.map(async (child) => {
          child.send(share)
          const [timing] = (await once(child, 'message')) as [Timing]
          return timing
        }),
      )
      return {
        elapsedMs: Math.max(...timings.map(({ elapsedMs }) => elapsedMs)),
        latenciesMs: timings.flatMap(({ latenciesMs }) => latenciesMs),
        sample: timings[0]?.sample ?? new Uint8Array(),
      }
    },
    async [Symbol.asyncDispose]() {
      const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      await Promise.all(
        running.map(async (child) => {
          const exited = once(child, 'exit')
          child.disconnect()
          await exited
        }),
      )
    },
  }
}

/** The other side: answers each batch with what `run` says of it, until the parent hangs up. */
export function serve(run: (batch: Batch) => Promise<Timing>): void {
  process.on('message', (batch: Batch) => {
    void run(batch).then((timing) => process.send?.(timing))
  })
  process.send?.('ready')
}
