/** Compiles one schema, refused or not, and says what that took. */
import { parentPort, workerData } from 'node:worker_threads'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'

compileVariablesSchema({ type: 'object', properties: { a: { type: 'string' } } })
const before = process.threadCpuUsage()
try {
  compileVariablesSchema(workerData)
} catch {
  // How long it takes to refuse one counts, too.
}
const { user, system } = process.threadCpuUsage(before)
// oxlint-disable-next-line require-post-message-target-origin -- a port of a thread has no origin
parentPort?.postMessage((user + system) / 1000)
