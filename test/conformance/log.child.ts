/**
 * A process with the service's log. `serve` answers HTTP and writes the requested number of lines. `fail` writes lines and then fails to
 * start. `print` lets Node and libraries print, and `crash` and `reject` end with an error that nobody catches.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Worker } from 'node:worker_threads'
import { serviceMetrics } from '@platen/adapters/prometheus/deployable/service.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { runUntilStopped, untilAborted } from '@platen/adapters/system/run.ts'

const [, , deed, count = '0'] = process.argv
const log = openLog({ level: 'info', process: 'test', instance: 'test' })
const PAD = 'x'.repeat(300)
let written = 0

function write(lines: number): void {
  for (let at = 0; at < lines; at++) log.info({ n: written++, pad: PAD }, 'said')
}

async function serve(stop: AbortSignal): Promise<void> {
  const metrics = openMetrics({ isRead: false, deployable: 'child' })
  serviceMetrics(metrics, { log, clock: systemClock(), isDraining: () => false })
  const server = createServer((request, response) => {
    write(Number(request.url?.slice(1)))
    void metrics.text().then((text) => response.end(text))
  }).listen(0, '127.0.0.1', () => {
    const address = server.address()
    assert(typeof address === 'object' && address !== null, 'it listens on a port')
    process.stdout.write(`http://127.0.0.1:${address.port}\n`)
  })
  await untilAborted(stop)
}

async function fail(): Promise<void> {
  write(Number(count))
  throw new Error('no such server')
}

/** What libraries do. */
async function print(): Promise<void> {
  process.emitWarning('soon gone', 'DeprecationWarning', 'DEP9999')
  // oxlint-disable-next-line no-console -- as a library does
  console.error('[library] %d sockets', 3)
  // oxlint-disable-next-line no-console -- as a library does
  console.log('hello')
  await once(new Worker("console.error('in a thread')", { eval: true }), 'exit')
}

async function crash(stop: AbortSignal): Promise<void> {
  queueMicrotask(() => {
    throw new Error('nobody catches it')
  })
  await untilAborted(stop)
}

async function reject(stop: AbortSignal): Promise<void> {
  void Promise.reject(new Error('nobody catches it', { cause: new Error('a cause') }))
  await untilAborted(stop)
}

const DEEDS: Readonly<Record<string, (stop: AbortSignal) => Promise<void>>> = { serve, fail, print, crash, reject }
await runUntilStopped(log, DEEDS[deed ?? ''] ?? fail)
