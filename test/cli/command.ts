/** What the tests of the command line share: a folder, manifests to put there, and the command, in this process or one of its own. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { runCommand } from '@platen/cli/command.ts'
import { NEVER } from '../fixture/build.ts'
import { PLAN, TENANT } from '../fixture/manifests.ts'
import { processOf } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const MAIN = join(ROOT, 'cli/src/main.ts')

/** A component that greets, on six lines; its `<Text>` is on the fourth. */
export const LETTER = `\
import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => (
  <Document><Page>
    <Text>Dear {data.name}, this is react_pdf.</Text>
  </Page></Document>
)
`

/** A text as the literal block of a key, indented by as much as asked for. */
export function block(key: string, text: string, indent: number): string {
  const rows = text.trimEnd().split('\n')
  return `${' '.repeat(indent)}${key}: |\n${rows.map((row) => `${' '.repeat(indent + 2)}${row}\n`).join('')}`
}

/** Parts of a template's spec: a schema of data that has a name, such data, and a source for each engine. */
export const SCHEMA =
  '  variablesSchema: {type: object, required: [name], properties: {name: {type: string, maxLength: 9}}, additionalProperties: false}\n'
export const SAMPLE = '  sampleData:\n    name: Ada\n'
export const HTML = '<h1>Report</h1>\n<p>Dear {{ name }}, this is html.</p>\n'
export const reactPdf = (source = LETTER) => `  reactPdf:\n    source:\n${block('inline', source, 6)}`
export const html = (source = HTML) => `  html:\n    template:\n${block('inline', source, 6)}`
/** What a template with an html source only must say. */
export const ENGINE_HTML = '  engine: Html\n'

/** A plan with html, and a tenant on it. */
export const PLATFORM = [PLAN.replace('spec: {}', 'spec: {htmlEngineEnabled: true}'), TENANT].join('---\n')

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly stdin?: string
  /** In place of what collects the output; only in this process. */
  readonly print?: (text: string) => void
  /** Beside the test's own environment. */
  readonly env?: Readonly<Record<string, string>>
}

export function run(file: string, args: readonly string[], options: RunOptions & { cwd?: string } = {}) {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const child = execFile(
    file,
    args,
    { cwd: options.cwd ?? ROOT, env: { ...process.env, ...options.env } },
    (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
    },
  )
  child.stdin?.end(options.stdin)
  return promise
}

/** The command in this process, from the root of the repository. */
export function platen(...args: string[]): Promise<Ended> {
  return platenWith({}, ...args)
}

export function platenWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended> {
  return runHere(args, { cwd: ROOT, env })
}

/** What a process of the command does, without one: a process takes half a second of a core to start. */
async function runHere(
  args: readonly string[],
  { cwd, stdin = '', env, print }: RunOptions & { cwd: string },
): Promise<Ended> {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    variables: { ...process.env, ...env },
    stdin: Readable.from([Buffer.from(stdin)]),
    print: print ?? ((text: string) => void out.push(text)),
    printError: (text: string) => void err.push(text),
  }
  const home = process.cwd()
  process.chdir(cwd)
  try {
    const code = await runCommand(args, terminal, NEVER)
    return { code, out: out.join(''), err: err.join('') }
  } finally {
    process.chdir(home)
  }
}

export type Folder = Awaited<ReturnType<typeof makeFolder>>

/** An empty folder for manifests and whatever else a test needs, and the command called from inside it, with `env` beside the test's own environment; in this process but for `spawned` and `follow`. */
export async function makeFolder(env: Readonly<Record<string, string>> = {}) {
  const path = await mkdtemp(join(tmpdir(), 'platen-cli-'))
  const followed: ReturnType<typeof follow>[] = []
  return {
    path,
    write: (name: string, text: string | Uint8Array) => writeFile(join(path, name), text),
    read: (name: string) => readFile(join(path, name)),
    names: async () => (await readdir(path)).sort(),
    platen: (args: readonly string[], options: RunOptions = {}) =>
      runHere(args, { ...options, env: { ...env, ...options.env }, cwd: path }),
    spawned: (args: readonly string[], options: RunOptions = {}) =>
      run(process.execPath, [MAIN, ...args], { ...options, env: { ...env, ...options.env }, cwd: path }),
    /** A command that goes on until it is told to end, or the folder is disposed of. */
    follow(...args: string[]) {
      const command = follow(path, args, env)
      followed.push(command)
      return command
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(followed.map((command) => command.end('SIGTERM')))
      await rm(path, { recursive: true })
    },
  }
}

function follow(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let asked = 0
  let wake = Promise.withResolvers<void>()
  const rouse = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    rouse()
  })
  const exited = once(child, 'exit')
  child.once('exit', rouse)
  return {
    pid: child.pid ?? 0,
    exited,
    /** What it prints from now on up to the end of a line that matches. Throws when it exits before. */
    async printed(line: RegExp): Promise<string> {
      for (;;) {
        const found = new RegExp(line, 'm').exec(out.slice(asked))
        const end = found === null ? -1 : out.indexOf('\n', asked + found.index)
        if (end !== -1) {
          const text = out.slice(asked, end + 1)
          asked = end + 1
          return text
        }
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}, having printed ${out}`)
        await wake.promise
      }
    },
    /** The exit code, after this signal if it still runs. */
    async end(signal: NodeJS.Signals): Promise<number | null> {
      if (child.exitCode === null) child.kill(signal)
      await exited
      return child.exitCode
    },
  }
}

/** Resolves when a process has computed for longer than any small document takes. */
export async function works(pid: number): Promise<void> {
  const busy = async () => processOf(pid)?.busy ?? Number.NaN
  const begun = await busy()
  await poll(busy).until((now) => now - begun >= WORK_SECONDS)
}

const WORK_SECONDS = 1
