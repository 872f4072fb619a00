/**
 * A real server for a test: one process in its own process group, on loopback. Its data is in a folder that is removed with it. A guard in
 * the same group holds a pipe to this process. When the pipe closes without a message, this process has died, even by SIGKILL. Then the
 * guard kills the server and removes its data.
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
import { poll } from '../../time/poll.ts'
import { freePorts } from './port.ts'

export interface Recipe {
  readonly name: string
  /** Number of ports it needs. Default: 1. */
  readonly portsCount?: number
  /** The port to serve on. Absent = any free port. */
  readonly port?: number
  /** Runs once for each set of ports that is tried. */
  prepare?(place: Place): Promise<void>
  command(place: Place): { readonly path: string; readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv }
  /** Asks the server, or reads its log. To throw or reject means not yet. */
  isReady(place: Place, signal: AbortSignal, log: () => string): Promise<boolean>
}

export interface Place {
  readonly folder: string
  /** The first of its ports: the one it serves on. */
  readonly port: number
  readonly ports: readonly number[]
}

/** A server that runs until it is disposed of. Every method resolves when its effect has happened. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number
  /** All of its ports, in the order of the recipe. */
  readonly ports: readonly number[]
  /** Its data and its log. Removed with the server. */
  readonly folder: string
  /** Process id of the last start. */
  pid(): number
  /** Output since the last start. */
  log(): string
  /**
   * Ends it as an operator would. Resolves with the exit code; null when SIGTERM itself ended it. Throws with its log when another signal
   * ended it.
   */
  stop(): Promise<number | null>
  /** Ends it like a power cut: SIGKILL. */
  kill(): Promise<void>
  /** Starts it again with the same port and data. Resolves when it serves. */
  start(): Promise<void>
  /** False as soon as it has ended, also by itself. */
  isRunning(): boolean
  /** Stops it with SIGSTOP: it keeps its connections and does not answer. */
  pause(): void
  resume(): void
}

/** Limit for servers that hang: on a busy machine everything starts late. */
const START_MS_MAX = 300_000
const STOP_MS_MAX = 120_000
const ASK_MS_MAX = 5000
const ASK_EVERY_MS = 50
const PORT_TRIES_MAX = 5
const LOG_TAIL_CHARS = 2000
/** Messages of servers whose port was taken after it was found free. */
const PORT_TAKEN = /address already in use|EADDRINUSE|Failed to bind/i

/**
 * The leader of the group becomes the server, so the child's id is the server's id. `$1` is the data folder, the rest is the command. The
 * system cannot reuse the group id here: the guard is in the group, and an id stays reserved while its group has members.
 */
const GUARDED = `
folder=$1; shift
( read -r _ <&3 || { kill -KILL $$; rm -rf "$folder"; }; kill -KILL -$$ ) >/dev/null 2>&1 &
exec "$@" 3<&-
`

/** Resolves when the server serves. Throws with the end of its log when it does not start. */
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
    // A paused process reacts to no signal but SIGKILL and SIGCONT.
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
      // A browser orphaned by a kill may create files and folders for a moment.
      await poll(() => processesWith(place.folder).length).until((left) => left === 0)
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
  // The guard may have ended before it gets the message.
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
    // An error means that the server does not serve yet.
    if (await recipe.isReady(place, signal, () => logOf(place)).catch(() => false)) return
    await sleep(ASK_EVERY_MS)
  }
  throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`)
}

/** Resolves when the process has ended. Kills a process that does not end within `STOP_MS_MAX`. */
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
