/** Tests a process whose log nobody reads or that cannot write its log, on real pipes like those of container runtimes. */
import { execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { LOG_WAITING_BYTES_MAX } from '@platen/adapters/system/log-output.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aFolder } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'

const CHILD = new URL('log.child.ts', import.meta.url).pathname
/** Capacity of a Linux pipe, in addition to the lines that wait in the process. */
const PIPE_BYTES = 64 * 1024
const LINE_BYTES_MIN = 300
/** Twice the number of unread lines that are kept. */
const MANY = Math.ceil((2 * (LOG_WAITING_BYTES_MAX + PIPE_BYTES)) / LINE_BYTES_MIN)
const AT_A_TIME = 1000

interface Line {
  readonly msg: string
  readonly n?: number
  readonly lines?: number
}

let folder: string
let fifo: string
/** Keeps the pipe open and never reads it. */
let pipe: number
beforeEach(async () => {
  folder = aFolder()
  fifo = join(folder, 'log')
  execFileSync('mkfifo', [fifo])
  pipe = openSync(fifo, 'r+')
})
afterEach(async () => {
  closeSync(pipe)
})

/** Starts the child process with this standard error. */
function start(stderr: number | 'pipe', ...args: readonly string[]) {
  const stdio: StdioOptions = ['ignore', 'pipe', stderr]
  const child = spawn(process.execPath, [CHILD, ...args], { stdio })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    child,
    exited,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function serving(stderr: number | 'pipe') {
  const started = start(stderr, 'serve')
  const { child } = started
  const [url] = (await once(createInterface({ input: child.stdout ?? expect.fail('it has an output') }), 'line')) as [
    string,
  ]
  /** Makes the process write lines. Resolves with the number of lines dropped so far. */
  const write = async (lines: number): Promise<number> => {
    const metrics = await (await fetch(`${url}/${lines}`)).text()
    return Number(/^platen_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])
  }
  const writeMany = async () => {
    let dropped = 0
    for (let written = 0; written < MANY; written += AT_A_TIME) dropped = await write(AT_A_TIME)
    return dropped
  }
  return { ...started, write, writeMany }
}

/** Reads the pipe until no process has it open. */
function read() {
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] })
  let read = ''
  reader.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    read += chunk
  })
  return {
    lines: () =>
      read
        .split('\n')
        .slice(0, -1)
        .map((line): Line => JSON.parse(line)),
    async [Symbol.asyncDispose]() {
      reader.kill('SIGKILL')
      await once(reader, 'close')
    },
  }
}

test('a process answers while nobody reads its log, counts what it drops, and says so to the next reader', async () => {
  await using service = await serving(pipe)
  const dropped = await service.writeMany()
  expect(dropped).toBeGreaterThan(MANY / 4)
  await using reader = read()
  await poll(reader.lines).until((lines) => lines.some(({ msg }) => msg === 'log lines dropped'))
  const total = Math.ceil(MANY / AT_A_TIME) * AT_A_TIME
  expect(await service.write(1)).toBe(dropped)
  const lines = await poll(reader.lines).until((lines) => lines.at(-1)?.n === total)
  const kept = total - dropped
  expect(lines.map(({ n, lines }) => n ?? { lines })).toEqual([...Array(kept).keys(), { lines: dropped }, total])
})

test('a process ends when it is told to, though nobody reads its log', async () => {
  await using service = await serving(pipe)
  expect(await service.writeMany()).toBeGreaterThan(0)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})

test('a process that fails to start has told all it had to say to who reads', async () => {
  await using reader = read()
  const count = 1000
  expect(count * LINE_BYTES_MIN).toBeGreaterThan(4 * PIPE_BYTES)
  await using failing = start(pipe, 'fail', `${count}`)
  expect(await failing.exited).toBe(1)
  const lines = await poll(reader.lines).until((lines) => lines.length > count)
  expect(lines.map(({ n, msg }) => n ?? msg)).toEqual([...Array(count).keys(), 'process failed'])
  expect(lines.at(-1)).toMatchObject({ level: 'error', process: 'test', err: { message: 'no such server' } })
})

test('a process logs what Node and libraries print, and prints nothing else', async () => {
  const { code, out, lines } = await endOf('print')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'library printed', console: 'error', detail: '[library] 3 sockets' },
    { level: 'warn', msg: 'library printed', console: 'log', detail: 'hello' },
    { level: 'warn', msg: 'node warned', warning: 'DeprecationWarning', code: 'DEP9999', detail: 'soon gone' },
    { level: 'warn', msg: 'library printed', thread: 1, detail: 'in a thread' },
  ])
})

test.for([
  ['an error', 'crash', 'uncaughtException', 'nobody catches it'],
  ['a rejection', 'reject', 'unhandledRejection', 'nobody catches it: a cause'],
] as const)('a process logs %s that nobody catches, and ends with 1', async ([, deed, origin, message]) => {
  const { code, lines } = await endOf(deed)
  expect(code).toBe(1)
  const err = { message, stack: expect.stringContaining('log.child.ts') }
  expect(lines).toMatchObject([{ level: 'error', msg: 'process crashed', origin, err, process: 'test' }])
})

/** Runs a process to its end, and parses each line of its standard error. */
async function endOf(deed: string) {
  await using started = start('pipe', deed)
  const { stdout, stderr } = started.child
  const [out, err, code] = await Promise.all([
    Array.fromAsync(stdout ?? []),
    Array.fromAsync(stderr ?? []),
    started.exited,
  ])
  const lines = Buffer.concat(err).toString().split('\n').slice(0, -1)
  return { code, out: Buffer.concat(out).toString(), lines: lines.map((line): unknown => JSON.parse(line)) }
}

test('a process that is killed has told a reader who keeps up all it had to say', async () => {
  await using reader = read()
  await using service = await serving(pipe)
  await service.write(10)
  service.child.kill('SIGKILL')
  await service.exited
  await poll(reader.lines).until((lines) => lines.length === 10)
})

test('a process whose reader has gone goes on, and counts each line', async () => {
  await using service = await serving('pipe')
  service.child.stderr?.destroy()
  await service.write(1)
  const before = await poll(() => service.write(0)).until((dropped) => dropped > 0)
  await service.write(10)
  expect(await poll(() => service.write(0)).until((dropped) => dropped >= before + 10)).toBe(before + 10)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})

test('a process that cannot write its log goes on, and counts each line', async () => {
  const full = openSync('/dev/full', 'w')
  using _ = { [Symbol.dispose]: () => closeSync(full) }
  await using service = await serving(full)
  await service.write(10)
  expect(await service.write(0)).toBe(10)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})
