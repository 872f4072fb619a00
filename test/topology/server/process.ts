/**
 * A real server under a test: one process in a group of its own, on loopback, with its data in a folder that goes when it goes.
 *
 * A guard runs beside it in its group and holds a pipe to this process. When the pipe ends without a word, whatever ended this
 * process, SIGKILL included, the guard kills the server and removes its data.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordTime } from '../../run/time-report.ts'
import { processesWith } from '../../soak/process-tree.ts'
import { until } from '../../time/until.ts'
import { freePorts } from './free-port.ts'

/** How one kind of server is started. */
export interface Recipe {
  readonly name: string
  /** How many ports of its own it needs; one if absent. */
  readonly portsCount?: number
  /** The port it has to serve on; any free one if absent. */
  readonly port?: number
  /** What has to be done before it starts, each time on another set of ports. */
  prepare?(place: Place): Promise<void>
  command(place: Place): { readonly path: string; readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv }
  /** Asks the server whether it serves, or reads it in its log. May throw or reject: then it does not yet. */
  isReady(place: Place, signal: AbortSignal, log: () => string): Promise<boolean>
}

/** Where one server lives. */
export interface Place {
  readonly folder: string
  /** The first of its ports is the one it serves on. */
  readonly port: number
  readonly ports: readonly number[]
}

/** A server that runs until it is disposed of; all methods resolve when what they say is done. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number
  /** All of its ports, in the order of its recipe. */
  readonly ports: readonly number[]
  /** Its data and its log, removed with it. */
  readonly folder: string
  /** Of the process as it was started last. */
  pid(): number
  /** What it has written since it was started last. */
  log(): string
  /** Ends it as an operator would; resolves with the exit code, null when it left SIGTERM to end it. Throws with its log when something else did. */
  stop(): Promise<number | null>
  /** Ends it as a power cut would. */
  kill(): Promise<void>
  /** Starts it again on the same port and data; resolves when it serves. */
  start(): Promise<void>
  /** Has it not ended, be it by itself? */
  isRunning(): boolean
  /** It keeps its connections and answers nobody. */
  pause(): void
  resume(): void
}

/** Ends what hangs: on a busy machine everything starts late. */
const START_MS_MAX = 300_000
const STOP_MS_MAX = 120_000
const ASK_MS_MAX = 5000
const ASK_EVERY_MS = 50
const PORT_TRIES_MAX = 5
const LOG_TAIL_CHARS = 2000
/** Its own words for a port that somebody else has taken since it was found free. */
const PORT_TAKEN = /address already in use|EADDRINUSE|Failed to bind/i

/**
 * The leader of the group becomes the server, so that its id is the child's. `$1` is the data folder, the rest the command.
 * No id here can have been given to somebody else: the guard is in the group, and a group's id is not given out while it has members.
 */
const GUARDED = `
folder=$1; shift
( read -r _ <&3 || { kill -KILL $$; rm -rf "$folder"; }; kill -KILL -$$ ) >/dev/null 2>&1 &
exec "$@" 3<&-
`

/** Starts a server; resolves when it serves, and throws with the end of its log when it does not come to that. */
export async function startServer(recipe: Recipe): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), `platen-${recipe.name}-`))
  try {
    const { place, child } = await startOnFreePort(recipe, folder)
    return serverOf(recipe, place, child)
  } catch (cause) {
    await rm(folder, { recursive: true, force: true })
    throw cause
  }
}

async function startOnFreePort(recipe: Recipe, folder: string): Promise<{ place: Place; child: ChildProcess }> {
  for (let tries = 1; ; tries++) {
    const count = recipe.portsCount ?? 1
    const free = await freePorts(count)
    const port = recipe.port ?? free
    const place = { folder, port, ports: Array.from({ length: count }, (_, step) => (step === 0 ? port : free + step)) }
    const startedAt = performance.now()
    try {
      await recipe.prepare?.(place)
      const child = await run(recipe, place)
      recordTime({ kind: 'start', name: recipe.name, durationMs: performance.now() - startedAt })
      return { place, child }
    } catch (cause) {
      if (tries === PORT_TRIES_MAX || !PORT_TAKEN.test(String(cause))) throw cause
    }
  }
}

function serverOf(recipe: Recipe, place: Place, first: ChildProcess): ServerProcess {
  let child = first
  const end = async (signal: NodeJS.Signals) => {
    // A process that was paused sees no other signal.
    if (isRunning(child)) child.kill('SIGCONT')
    await endWith(child, signal)
  }
  return {
    port: place.port,
    ports: place.ports,
    folder: place.folder,
    pid: () => child.pid ?? Number.NaN,
    log: () => logOf(place),
    async stop() {
      const wasRunning = isRunning(child)
      await end('SIGTERM')
      const { exitCode, signalCode } = child
      if (wasRunning && exitCode === null && signalCode !== 'SIGTERM')
        throw new Error(`${recipe.name} was ended by ${signalCode}; ${logEndOf(place)}`)
      return exitCode
    },
    kill: () => end('SIGKILL'),
    async start() {
      if (isRunning(child)) throw new Error(`${recipe.name} runs already`)
      const startedAt = performance.now()
      child = await run(recipe, place)
      recordTime({ kind: 'start', name: recipe.name, durationMs: performance.now() - startedAt })
    },
    isRunning: () => isRunning(child),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
      // A browser that was orphaned by a kill may make files, and folders above them, for a moment yet.
      await until(
        async () => processesWith(place.folder).length,
        (left) => left === 0,
      )
      await rm(place.folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function run(recipe: Recipe, place: Place): Promise<ChildProcess> {
  const { path, args, env } = recipe.command(place)
  const output = openSync(logIn(place), 'w')
  const guarded = ['-c', GUARDED, 'guarded', place.folder, path, ...args]
  const stdio = ['ignore', output, output, 'pipe'] as const
  const child = spawn('sh', guarded, { detached: true, stdio: [...stdio], env: { ...process.env, ...env } })
  closeSync(output)
  const guard = child.stdio[3]
  // The guard may be gone already when it is dismissed.
  guard?.on('error', () => undefined)
  child.once('exit', () => guard !== null && guard !== undefined && 'end' in guard && guard.end('dismissed\n'))
  try {
    await untilReady(recipe, place, child)
    return child
  } catch (cause) {
    await endWith(child, 'SIGKILL')
    throw new Error(`${recipe.name} did not start; ${logEndOf(place)}`, { cause })
  }
}

function logIn({ folder }: Place): string {
  return join(folder, 'server.log')
}

function logOf(place: Place): string {
  return readFileSync(logIn(place), 'utf8')
}

function logEndOf(place: Place): string {
  return `the end of its log:\n${logOf(place).slice(-LOG_TAIL_CHARS)}`
}

async function untilReady(recipe: Recipe, place: Place, child: ChildProcess): Promise<void> {
  const deadline = AbortSignal.timeout(START_MS_MAX)
  while (isRunning(child)) {
    deadline.throwIfAborted()
    const signal = AbortSignal.any([deadline, AbortSignal.timeout(ASK_MS_MAX)])
    // What it refuses or does not understand yet it may later.
    if (await recipe.isReady(place, signal, () => logOf(place)).catch(() => false)) return
    await sleep(ASK_EVERY_MS)
  }
  throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`)
}

/** Resolves when the process is gone; one that does not go by itself is killed. */
async function endWith(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return
  const gone = once(child, 'exit')
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await gone
  clearTimeout(late)
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}
