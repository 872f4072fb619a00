/**
 * The program behind `make run`. It starts the service as `npm start` does, on the example manifests. Then it renders the sample invoice
 * with each engine through the HTTP API, as any caller would, and prints how to continue by hand. It runs until Ctrl-C; with `--once` it
 * stops at once. The exit code is 0 when every invoice that this machine can render was rendered and the service stopped cleanly.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { readableLine } from '@platen/adapters/system/readable-line.ts'
import { ENGINES, type Engine } from '@platen/contract/render-options.ts'
import { isMap, parseDocument } from 'yaml'

const MAIN = join(import.meta.dirname, 'main.ts')
const OUT = 'out'
const LOG = join(OUT, 'platen.log')
const MANIFEST = 'examples/invoice.yaml'
/** File with the live key of the example manifests, in the data folder. */
const KEY = 'keys/team-acme.live-key'

const START_MS_MAX = 60_000
const RENDER_MS_MAX = 60_000
/** Longer than the service needs to drain. */
const STOP_MS_MAX = 45_000
const LOG_LINES_SHOWN = 20
/** The start of the log message for a service that runs without html. */
const NO_CHROMIUM = '"msg":"chromium not found'

const clock = systemClock()

if (import.meta.main) process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { data: { type: 'string', default: 'data' }, once: { type: 'boolean', default: false } },
  })
  const interrupt = interruptSignal()
  await mkdir(OUT, { recursive: true })
  // Opened for appending, because a service in another terminal may write to the same file.
  const log = await open(LOG, 'a')
  const { size: begin } = await log.stat()
  // The service gets its own process group: Ctrl-C in a terminal signals the whole group, and only we should signal the service.
  const service = spawn(process.execPath, [MAIN], { stdio: ['ignore', 'pipe', log.fd], detached: true })
  const exit = once(service, 'exit')
  try {
    const url = await untilReady(service, interrupt)
    if (url === undefined) return await explainEarlyExit(begin)
    // The service logs this before it is ready.
    const missing = (await logSince(begin)).includes(NO_CHROMIUM) ? ['html'] : []
    await renderInvoices({ url, keyFile: join(values.data, KEY), missing }, interrupt)
    if (values.once) return await stop(service, exit)
    print(`\nThe service runs until Ctrl-C; its log is ${LOG}.`)
    if (!interrupt.aborted) await Promise.race([exit, once(interrupt, 'abort')])
    if (service.exitCode !== null) return await explainEarlyExit(begin)
    return await stop(service, exit)
  } catch (error) {
    const code = await stop(service, exit)
    if (interrupt.aborted) return code
    print(`\n${error instanceof Error ? error.message : String(error)}\nThe log of the service is ${LOG}.`)
    return 1
  } finally {
    await log.close()
  }
}

/** Resolves with the address the service listens on, or undefined when it exited instead. */
async function untilReady(service: ChildProcess, interrupt: AbortSignal): Promise<string | undefined> {
  if (service.stdout === null) throw new Error('the service has no standard output')
  const signal = AbortSignal.any([interrupt, clock.timeout(START_MS_MAX)])
  const lines = createInterface({ input: service.stdout, signal })
  for await (const line of lines) {
    const [, url] = /^ready (http\S+)$/.exec(line) ?? []
    if (url !== undefined) return url
  }
  signal.throwIfAborted()
  return undefined
}

interface Running {
  readonly url: string
  readonly keyFile: string
  /** Engines the service runs without. */
  readonly missing: readonly string[]
}

async function renderInvoices({ url, keyFile, missing }: Running, interrupt: AbortSignal): Promise<void> {
  const key = (await readFile(keyFile, 'utf8')).trim()
  const data = await sampleData()
  print(`The service is ready at ${url}\n`)
  for (const engine of ENGINES) {
    const request = { template: 'invoice', engine, data }
    await writeFile(requestFile(engine), `${JSON.stringify(request, null, 2)}\n`)
    const signal = AbortSignal.any([interrupt, clock.timeout(RENDER_MS_MAX)])
    const outcome = missing.includes(engine)
      ? 'not made, as there is no Chromium: renderer/install-chromium.sh says how to get one; then run this again'
      : await render({ url, key, engine, body: JSON.stringify(request) }, signal)
    print(`  ${engine.padEnd(10)} ${outcome}`)
  }
  const asynchronous = { template: 'invoice', mode: 'async', data }
  await writeFile(requestFile('async'), `${JSON.stringify(asynchronous, null, 2)}\n`)
  print(`\nAPI key (from ${keyFile}): ${key}\n\n${instructions(url, keyFile)}`)
}

/** Reads the sample data from the manifest of the invoice. */
async function sampleData(): Promise<unknown> {
  const document = parseDocument(await readFile(MANIFEST, 'utf8'))
  const sample = document.getIn(['spec', 'sampleData'])
  if (!isMap(sample)) throw new Error(`${MANIFEST} has no sampleData`)
  return sample.toJS(document)
}

interface Call {
  readonly url: string
  readonly key: string
  readonly engine: Engine
  readonly body: string
}

/** Renders one PDF and prints where it is. Throws when the render fails. */
async function render({ url, key, engine, body }: Call, signal: AbortSignal): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/render`, { method: 'POST', headers, body, signal })
  if (!answer.ok) throw new Error(`${engine}: the service answered ${answer.status} ${await answer.text()}`)
  const pdf = Buffer.from(await answer.arrayBuffer())
  const file = join(OUT, `invoice-${engine}.pdf`)
  await writeFile(file, pdf)
  return `${file}, ${Math.ceil(pdf.byteLength / 1024)} KiB`
}

/** Returns commands to paste into a shell at the root of the repository. */
function instructions(url: string, keyFile: string): string {
  const post = `curl -sS -H "$AUTH" -H 'Content-Type: application/json'`
  return `To go on by hand (the requests are files in ${OUT}/, to read and to change):

  AUTH="Authorization: Bearer $(cat '${keyFile}')"

  # a PDF by each engine
${ENGINES.map((engine) => `  ${post} -d @${requestFile(engine)} -o ${engine}.pdf ${url}/api/v1/render`).join('\n')}

  # the same asynchronously: take the render_id, ask for its status once it has ended, and fetch the pdf_url
  ID=$(${post} -d @${requestFile('async')} ${url}/api/v1/render | sed 's/.*"render_id":"\\([^"]*\\)".*/\\1/')
  curl -sS -H "$AUTH" "${url}/api/v1/render/$ID?wait=30"

  # the templates there are
  curl -sS -H "$AUTH" ${url}/api/v1/templates`
}

function requestFile(name: Engine | 'async'): string {
  return join(OUT, `request-${name}.json`)
}

/** Prints why the service ended: the errors in its log, from byte `begin` on. */
async function explainEarlyExit(begin: number): Promise<number> {
  const lines = (await logSince(begin)).trimEnd().split('\n')
  const errors = lines.filter((line) => line.includes('"level":"error"')).map((line) => readableLine(line).trimEnd())
  const shown = (errors.length > 0 ? errors : lines).slice(-LOG_LINES_SHOWN)
  print(`The service has stopped by itself:\n\n${shown.join('\n')}`)
  const [, port] = /PLATEN_PORT=(\d+)/.exec(errors.join('\n')) ?? []
  if (port !== undefined) print(`\nWith make: make run PORT=${port}`)
  return 1
}

async function logSince(begin: number): Promise<string> {
  return (await readFile(LOG)).subarray(begin).toString()
}

/** Stops the service as an init system would. Returns whether it stopped cleanly. */
async function stop(service: ChildProcess, exit: Promise<unknown>): Promise<number> {
  if (service.exitCode !== null || service.signalCode !== null) return 1
  service.kill('SIGTERM')
  const deadline = clock.timeout(STOP_MS_MAX)
  await Promise.race([exit, once(deadline, 'abort')])
  if (service.exitCode === 0) return 0
  service.kill('SIGKILL')
  print(`The service did not stop cleanly; its log is ${LOG}.`)
  return 1
}

/** Aborts on Ctrl-C, when the terminal is closed, or when an init system stops this process. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort())
  return controller.signal
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
