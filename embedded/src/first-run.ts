/**
 * The program behind `make run`. It starts the service as `npm start` does, with its own Node options, on the example manifests or those of
 * `PLATEN_MANIFESTS_DIR`. Then it renders the sample invoice, or else the first templates with sample data, with each of their engines
 * through the HTTP API, and prints how to continue by hand. It runs until Ctrl-C; with `--once` it stops at once. The exit code is 0 when
 * every sample that this machine can render was rendered and the service stopped cleanly.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { readableLine } from '@platen/adapters/system/readable-line.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const OUT = 'out'
const LOG = join(OUT, 'platen.log')
const KEYS = 'keys/*'
/** The template to show if it exists, else the first `TEMPLATES_SHOWN_MAX`. */
const SAMPLE = 'invoice'
const TEMPLATES_SHOWN_MAX = 3

const START_MS_MAX = 60_000
const RENDER_MS_MAX = 60_000
/** Longer than the service needs to drain. */
const STOP_MS_MAX = 45_000
const LOG_LINES_SHOWN = 20
/** The start of the log message of a service without html. */
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
  // Its own process group: Ctrl-C in a terminal signals a whole group, and only we should signal the service.
  const service = spawn(process.execPath, [...process.execArgv, MAIN], {
    stdio: ['ignore', 'pipe', log.fd],
    detached: true,
  })
  const exit = once(service, 'exit')
  try {
    const url = await untilReady(service, interrupt)
    if (url === undefined) return await explainEarlyExit(begin)
    // The service logs this before it is ready.
    const missing = (await logSince(begin)).includes(NO_CHROMIUM) ? ['html'] : []
    await showTemplates({ url, dataDir: values.data, missing }, interrupt)
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

/** Resolves with the listen address, or undefined when the service exited. */
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
  readonly dataDir: string
  readonly missing: readonly string[]
}

async function showTemplates({ url, dataDir, missing }: Running, interrupt: AbortSignal): Promise<void> {
  print(`The service is ready at ${url}\n`)
  const keyFiles = (await Array.fromAsync(glob(KEYS, { cwd: dataDir }))).sort().map((file) => join(dataDir, file))
  const [keyFile] = keyFiles
  if (keyFile === undefined) return print('No API key was made: no resource of the kind ApiKey is in force.')
  const key = (await readFile(keyFile, 'utf8')).trim()
  const caller = { url, key, signal: AbortSignal.any([interrupt, clock.timeout(RENDER_MS_MAX)]) }
  const samples = await samplesOf(caller)
  for (const { code, engines, data } of samples) {
    for (const engine of engines) {
      const request = { template: code, engine, data }
      await writeFile(requestFile(engine), `${JSON.stringify(request, null, 2)}\n`)
      const outcome = missing.includes(engine)
        ? 'not made, as there is no Chromium: renderer/install-chromium.sh says how to get one; then run this again'
        : await render(caller, { code, engine, body: JSON.stringify(request) })
      print(`  ${engine.padEnd(10)} ${outcome}`)
    }
    await writeFile(requestFile('async'), `${JSON.stringify({ template: code, mode: 'async', data }, null, 2)}\n`)
  }
  if (samples.length === 0) print('No template of this key has sample data.')
  for (const file of keyFiles) print(`\nAPI key (from ${file}): ${(await readFile(file, 'utf8')).trim()}`)
  print(`\n${instructions({ url, keyFile, engines: samples.at(-1)?.engines ?? [] })}`)
}

interface Caller {
  readonly url: string
  readonly key: string
  readonly signal: AbortSignal
}

interface Sample {
  readonly code: string
  readonly engines: readonly Engine[]
  readonly data: object
}

/** As in the OpenAPI document. */
interface TemplateList {
  readonly templates: readonly { readonly code: string }[]
}
interface TemplateDetail {
  readonly engines: readonly { readonly engine: Engine; readonly in_plan: boolean }[]
  readonly sample?: object
}

async function samplesOf(caller: Caller): Promise<readonly Sample[]> {
  const { templates } = (await (await ask(caller, 'templates')).json()) as TemplateList
  const codes = templates.map(({ code }) => code)
  const samples: Sample[] = []
  for (const code of codes.includes(SAMPLE) ? [SAMPLE] : codes) {
    if (samples.length === TEMPLATES_SHOWN_MAX) break
    const { engines, sample } = (await (await ask(caller, `templates/${code}`)).json()) as TemplateDetail
    const inPlan = engines.filter(({ in_plan }) => in_plan).map(({ engine }) => engine)
    if (sample !== undefined) samples.push({ code, engines: inPlan, data: sample })
  }
  return samples
}

async function ask({ url, key, signal }: Caller, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/${path}`, { ...init, headers, signal })
  if (!answer.ok) throw new Error(`${path}: the service answered ${answer.status} ${await answer.text()}`)
  return answer
}

/** Resolves with the file and size of the PDF. Throws when the render fails. */
async function render(
  caller: Caller,
  { code, engine, body }: { readonly code: string; readonly engine: Engine; readonly body: string },
): Promise<string> {
  const pdf = Buffer.from(await (await ask(caller, 'render', { method: 'POST', body })).arrayBuffer())
  const file = join(OUT, `${code}-${engine}.pdf`)
  await writeFile(file, pdf)
  return `${file}, ${Math.ceil(pdf.byteLength / 1024)} KiB`
}

/** Commands for a shell at the root of the repository. */
function instructions(of: { readonly url: string; readonly keyFile: string; readonly engines: readonly Engine[] }) {
  const { url, keyFile, engines } = of
  const post = `curl -sS -H "$AUTH" -H 'Content-Type: application/json'`
  const renders = `
  # a PDF by each engine
${engines.map((engine) => `  ${post} -d @${requestFile(engine)} -o ${engine}.pdf ${url}/api/v1/render`).join('\n')}

  # the same asynchronously: take the render_id, ask for its status once it has ended, and fetch the pdf_url
  ID=$(${post} -d @${requestFile('async')} ${url}/api/v1/render | sed 's/.*"render_id":"\\([^"]*\\)".*/\\1/')
  curl -sS -H "$AUTH" "${url}/api/v1/render/$ID?wait=30"
`
  return `To go on by hand (the requests are files in ${OUT}/, to read and to change):

  AUTH="Authorization: Bearer $(cat '${keyFile}')"
${engines.length > 0 ? renders : ''}
  # the templates there are
  curl -sS -H "$AUTH" ${url}/api/v1/templates`
}

function requestFile(name: Engine | 'async'): string {
  return join(OUT, `request-${name}.json`)
}

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

/** Stops the service like an init system. Returns the exit code: 0 after a clean stop. */
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
  // Not `once`: a second signal would end this process, and the service would go on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort())
  return controller.signal
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
