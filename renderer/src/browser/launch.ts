/**
 * One Chromium process: how it starts, how we know that it has exited, and how all its traces are removed. puppeteer starts it and speaks
 * to it, over our transport, which bounds what pages send.
 *
 * We control it through a pipe, never a socket, so nobody else on the machine can reach it. If this process is killed without time to clean
 * up, the pipe closes and Chromium exits by itself.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { launch, type Process } from '@puppeteer/browsers'
import { type Browser, type CDPSession, connect, defaultArgs } from 'puppeteer'
import type { PageBudget } from './message-reader.ts'
import { openPipeTransport, type PipeTransport } from './transport.ts'

const SECOND_MS = 1000

/** How long a browser may take to start: 0.3 s, some seconds on an overloaded machine. puppeteer has no limit of its own for a pipe. */
export const BROWSER_LAUNCH_MS_MAX = 15 * SECOND_MS

/** A document has lost its browser or must leave it. Another document in that browser may be the cause. */
export class BrowserLost extends Error {
  override readonly name = 'BrowserLost'
  /** The failure of its render if no other document was in the browser. */
  readonly failure: ServiceError

  constructor(failure: ServiceError) {
    super(failure.message, { cause: failure.cause })
    this.failure = failure
  }
}

export interface RunningBrowser {
  readonly browser: Browser
  budgetOf(session: CDPSession): PageBudget
  /** Aborts when the process has exited or is being killed. The reason is a `BrowserLost` with `render_crashed`. */
  readonly gone: AbortSignal
  /** The exit code or signal of its process, once it has exited. */
  exit(): { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }
  /** Kills the whole process group. Resolves when it is dead and its profile folder is removed. May be called twice. */
  kill(): Promise<void>
  /** Resolves when the browser has responded. Rejects when it has exited. Stays pending while it hangs. */
  ping(): Promise<void>
  /** Grows while the browser works or sends. It is then alive, even if the answer to a ping has to wait. */
  activity(): number
  /** Resolves and rejects as `ping` does. */
  processes(): Promise<readonly BrowserProcess[]>
  /** The private memory of all its processes together. Undefined without /proc. */
  memoryBytes(): Promise<number | undefined>
}

interface BrowserProcess {
  readonly id: number
  /** `renderer` for the process of a page. */
  readonly type: string
}

export interface LaunchSettings {
  readonly clock: Clock
  readonly executablePath: string
  /** From `chromiumFlags`. */
  readonly flags: readonly string[]
  /** The folder in which each browser gets its own profile folder. */
  readonly profileDir: string
  readonly fontConfigFile: string
}

const PROFILE_PREFIX = 'browser-'

/**
 * Flags that puppeteer gives Chromium and we remove. Tags and an outline cost half the CPU of a long document, and 25 times the bytes.
 * Without Chromium's limit on navigations, one page keeps the process of all pages busy. Each of our pages has its own context, so nobody
 * would use the process of the first page.
 */
const UNWANTED = [
  '--export-tagged-pdf',
  '--generate-pdf-document-outline',
  '--disable-ipc-flooding-protection',
  'about:blank',
]

const FLAGS = [
  '--no-startup-window',
  // No name and no address resolves. Interception in the page fails each request before that. This covers what interception does not see:
  // preconnect, WebSockets, and TURN over TCP.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
  '--disable-quic',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--no-pings',
  // WebRTC sends to an address without resolving it. This flag allows that only through a proxy, and there is none.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // A page opened by a script would have no owner and no interception, and would outlive its opener.
  '--block-new-web-contents',
  // V8 derives its own limit from the machine's memory. That could be far below the limit of a page, and scripts would crash at it. With
  // the highest value, we see that a page exceeds its limit before V8 crashes it. After a collection, the heap of a page may grow to five
  // times its live objects. The default is less, and V8 would search a document of hundreds of rows, whose layout is part of that heap,
  // again and again while nearly all of it lives.
  '--js-flags=--max-old-space-size=4096 --heap-growing-percent=400',
  '--disable-gpu',
  // Hinting moves glyphs to the pixels of a screen that nobody sees.
  '--font-render-hinting=none',
  '--lang=en-US',
]

/** `isSandboxed: false` runs Chromium without its own sandbox: needed as root or without user namespaces. */
export async function chromiumFlags({ isSandboxed }: { readonly isSandboxed: boolean }): Promise<readonly string[]> {
  const args = [...FLAGS, ...(isSandboxed ? [] : ['--no-sandbox'])]
  // The full browser accepts the flag for headless shell, too.
  const flags = await defaultArgs({ headless: 'shell', args })
  return flags.filter((flag) => !UNWANTED.includes(flag))
}

/**
 * Starts a browser. The process begins before this function returns, as the caller may be busy afterwards. If it does not start, rejects
 * with the reason and leaves nothing behind.
 */
export async function launchBrowser(settings: LaunchSettings, signal: AbortSignal): Promise<RunningBrowser> {
  const profile = mkdtempSync(join(settings.profileDir, PROFILE_PREFIX))
  const ended = AbortSignal.any([signal, settings.clock.timeout(BROWSER_LAUNCH_MS_MAX)])
  const started = startChromium(settings, profile)
  const { nodeProcess } = started
  try {
    await once(nodeProcess, 'spawn')
  } catch (error) {
    // No process runs: this removes puppeteer's listeners.
    started.kill()
    await removeProfile(profile)
    throw error
  }
  const running = watchBrowser(nodeProcess, profile)
  try {
    const browser = await raceAbort(running.connect(), ended)
    // From now on Chromium copies the consoles of pages there. It goes on without a reader.
    for (const stream of nodeProcess.stdio.slice(0, 3)) stream?.destroy()
    return browser
  } catch (cause) {
    await running.kill()
    ended.throwIfAborted()
    const { exitCode, signalCode } = nodeProcess
    const lastLines = started.getRecentLogs().slice(-LAST_LINES_MAX).join('\n').slice(-LAST_LINES_CHARS_MAX)
    throw new Error(`Chromium ended before it answered (${exitCode ?? signalCode}): ${lastLines}`, { cause })
  }
}

/**
 * Starts the process, as the leader of a group. puppeteer's own `launch` is no use: its transport takes messages of any size, and a browser
 * that does not start leaves no reason.
 */
function startChromium({ executablePath, flags, fontConfigFile }: LaunchSettings, profile: string): Process {
  return launch({
    executablePath,
    args: [...flags, '--remote-debugging-pipe', `--user-data-dir=${profile}`],
    pipe: true,
    env: environmentOf(fontConfigFile, profile),
    // Our own shutdown decides when a browser ends.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
}

/** Our own environment is not passed on: Chromium must not see its secrets, and no time zone or language may change a document. */
export function environmentOf(fontConfigFile: string, profile: string): Record<string, string> {
  return { FONTCONFIG_FILE: fontConfigFile, HOME: profile, TMPDIR: profile, LANG: 'C.UTF-8', TZ: 'UTC' }
}

const LAST_LINES_MAX = 12
const LAST_LINES_CHARS_MAX = 2000

/** Removes profiles that browsers of an earlier process left in `profileDir`. Creates the folder if needed. */
export async function removeStaleProfiles(profileDir: string): Promise<void> {
  await mkdir(profileDir, { recursive: true })
  const stale = (await readdir(profileDir)).filter((name) => name.startsWith(PROFILE_PREFIX))
  await Promise.all(stale.map((name) => removeProfile(join(profileDir, name))))
}

/** When the pipe of the process closes, everything of it ends. */
function watchBrowser(
  child: ChildProcess,
  profile: string,
): Pick<RunningBrowser, 'kill'> & { connect(): Promise<RunningBrowser> } {
  const { pid } = child
  assert(pid !== undefined, 'a process that was started has an id')
  const transport = openPipeTransport(pipeOf(child))
  const exited = once(child, 'exit')
  const gone = new AbortController()
  let killing: Promise<void> | undefined
  const kill = () => {
    killing ??= (async () => {
      gone.abort(new BrowserLost(new ServiceError('render_crashed', 'the browser ended while it rendered')))
      // The whole group, because renderers outlive a browser that was killed alone. Even if its leader is dead, where puppeteer kills
      // nothing: the group id stays theirs while they live.
      killGroup(pid)
      await exited
      await removeProfile(profile)
    })()
    return killing
  }
  return {
    kill,
    async connect() {
      const browser = await connect({
        transport,
        // Pages have the size of their window, no page has a network, and callers set deadlines.
        defaultViewport: null,
        networkEnabled: false,
        issuesEnabled: false,
        protocolTimeout: 0,
      })
      browser.once('disconnected', () => void kill())
      const session = await browser.target().createCDPSession()
      return { ...runningBrowser({ browser, session, transport, child, pid }), gone: gone.signal, kill }
    },
  }
}

interface BrowserParts {
  readonly browser: Browser
  /** The session with the browser itself. */
  readonly session: CDPSession
  readonly transport: PipeTransport
  readonly child: ChildProcess
  readonly pid: number
}

function runningBrowser({
  browser,
  session,
  transport,
  child,
  pid,
}: BrowserParts): Omit<RunningBrowser, 'gone' | 'kill'> {
  return {
    browser,
    budgetOf: (page) => transport.budgetOf(page.id()),
    exit: () => ({ exitCode: child.exitCode, signal: child.signalCode }),
    async ping() {
      await session.send('Browser.getVersion')
    },
    activity: () => transport.bytesRead() + Math.floor(cpuTicksOf(pid) / WORKING_TICKS),
    async processes() {
      const { processInfo } = await session.send('SystemInfo.getProcessInfo')
      return processInfo
    },
    memoryBytes: () => memoryOfGroup(pid),
  }
}

function pipeOf({ stdio: [, , , input, output] }: ChildProcess) {
  assert(input instanceof Writable && output instanceof Readable, 'the process was started with a pipe')
  return { input, output }
}

/**
 * The resident memory of a process group without file-backed pages. Not the proportional share, because the kernel hides it for processes
 * as protected as Chromium's renderers.
 */
async function memoryOfGroup(leader: number): Promise<number | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  // A process may exit before it is read.
  const statuses = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')))
  const members = statuses.filter((status) => fieldOf(status, 'NSpgid') === leader)
  if (members.length === 0) return undefined
  const kibs = members.map((status) => fieldOf(status, 'RssAnon') + fieldOf(status, 'RssShmem'))
  return kibs.reduce((sum, kib) => sum + kib, 0) * 1024
}

/** Ticks of 10 ms. A browser that hangs takes one or two in a second. */
const WORKING_TICKS = 5

/** The CPU time of the main process of a browser. 0 without /proc. */
function cpuTicksOf(pid: number): number {
  try {
    // The name in parentheses may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

/** The first number of a line of /proc/<pid>/status. 0 if there is no such line, as for a dead process. */
function fieldOf(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // All processes are dead already. macOS returns EPERM for a group that is dead and not yet reaped.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error
  }
}

/** Dying processes may still write for a moment. The next engine that opens removes the rest. */
async function removeProfile(profile: string): Promise<void> {
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }).catch(() => undefined)
}
