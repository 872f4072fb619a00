/** The Postman collection: made of the OpenAPI document as it is, and answered by the real service as the document says. */
import { execFile } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { rejectionOf } from '../fixture/build.ts'
import { aFolder, shared } from '../fixture/lifetime.ts'
import { startExamples } from '../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { collectionOf, type OpenApi } from './collection.ts'

const NEWMAN = join(import.meta.dirname, 'node_modules/newman/bin/newman.js')
const RUN_MS_MAX = 60_000

// The document is ours, and other tests look at its shape.
const document = JSON.parse(readText('api/openapi.json')) as OpenApi
const collection = `${JSON.stringify(collectionOf(document), null, 2)}\n`

test('client/postman.json is made of the OpenAPI document', async () => {
  await expect(collection).toMatchFileSnapshot('../../client/postman.json')
})

test('it has a request for every operation of callers', () => {
  const summaries = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/api/v1/'))
    .flatMap(([, methods]) => Object.values(methods).map(({ summary }) => summary))
  expect(summaries.length).toBeGreaterThan(2)
  expect(requestsIn(collectionOf(document))).toEqual(expect.arrayContaining(summaries))
})

const service = shared(() => startExamples(LOOPBACK_ALLOWED))

test('every request of it is answered as documented by the service on its examples', async () => {
  await using receiver = await aReceiver()
  const executions = await runNewman({
    base_url: `${service().url()}/api/v1`,
    api_key: service().key,
    webhook_url: `${receiver.url}/hook`,
  })
  expect(executions.flatMap(faultsOf)).toEqual([])
  const names = requestsIn(collectionOf(document))
  expect([...new Set(executions.map(({ item }) => item.name))]).toEqual([...new Set(names)])
})

test('a request that is answered otherwise is a fault', async () => {
  const executions = await runNewman({ base_url: `${service().url()}/api/v1`, api_key: 'service_live_none' })
  expect(executions.filter((execution) => faultsOf(execution).length === 0)).toEqual([])
})

/** The parts of newman's report that are read here. */
interface Execution {
  readonly item: { readonly name: string }
  readonly response?: { readonly code: number }
  readonly assertions?: readonly { readonly assertion: string; readonly error?: { readonly message: string } }[]
}

/** What was not as documented, as sentences; a request about which nothing was asserted is at fault, too. */
function faultsOf({ item, assertions = [] }: Execution): readonly string[] {
  if (assertions.length === 0) return [`${item.name}: not answered`]
  return assertions.flatMap(({ assertion, error }) => (error ? [`${item.name} ${assertion}: ${error.message}`] : []))
}

/** Runs the collection with these variables. */
async function runNewman(variables: Record<string, string>): Promise<readonly Execution[]> {
  await access(NEWMAN).catch((cause: unknown) => {
    throw new Error('newman is not installed: npm ci --prefix test/postman', { cause })
  })
  const folder = aFolder()
  const [file, report] = [join(folder, 'collection.json'), join(folder, 'report.json')]
  await writeFile(file, collection)
  const set = Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`])
  const output = ['--reporters', 'json', '--reporter-json-export', report]
  const run = ['run', file, ...set, ...output, '--timeout', `${RUN_MS_MAX}`]
  const newman = promisify(execFile)(process.execPath, ['--no-deprecation', NEWMAN, ...run], { cwd: folder })
  const failure = await rejectionOf(newman)
  // With faults it exits with 1 and has written its report all the same; without a report there was no run.
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error('newman did not run', { cause: failure })
  })
  // The shape is newman's.
  return (JSON.parse(text) as { run: { executions: Execution[] } }).run.executions
}

/** The names of all requests, from top to bottom. */
function requestsIn(item: object): readonly string[] {
  if ('item' in item && Array.isArray(item.item)) return item.item.flatMap(requestsIn)
  return 'name' in item ? [String(item.name)] : []
}
