/**
 * One Chromium process: how it starts, how we know that it has exited, and how everything of it is removed.
 *
 * We control it through a pipe, never a socket, so nobody else on the machine can reach it. If this process is killed without time to clean
 * up, the pipe closes and Chromium exits by itself.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'
import { type Connection, openConnection } from './connection.ts'
import { BROWSER_LAUNCH_MS_MAX } from './limit.ts'

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
  readonly connection: Connection
  /** Aborts when the process has exited or is being killed. The reason is a `BrowserLost` with `render_crashed`. */
  readonly gone: AbortSignal
  /** How its process exited, once it has: by itself with a code, or by a signal. */
  exit(): { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }
  /** Kills the whole process group. Resolves when it is dead and its profile folder is removed. May be called twice. */
  kill(): Promise<void>
  /** Resolves when the browser has responded. Rejects when it has exited. Stays pending while it hangs. */
  ping(): Promise<void>
  /** Resolves and rejects as `ping` does. */
  processes(): Promise<readonly BrowserProcess[]>
  /** The private memory of all its processes together. Undefined without /proc. */
  memoryBytes(): Promise<number | undefined>
}

export interface BrowserProcess {
  readonly id: number
  /** `renderer` for the process of a page. */
  readonly type: string
}

export interface LaunchSettings {
  readonly clock: Clock
  readonly executablePath: string
  /** The folder in which each browser gets its own profile folder. */
  readonly profileDir: string
  readonly fontConfigFile: string
  /** False runs Chromium without its own sandbox. Needed as root or without user namespaces. */
  readonly isSandboxed: boolean
}

const PROFILE_PREFIX = 'browser-'

/**
 * What puppeteer 25 starts Chromium with, for browsers that programs use: nothing in it that talks to Google, asks, or rests. Its flags for
 * tags and an outline are left out: they cost half the CPU of a long document, and 25 times the bytes.
 */
const AUTOMATION_FLAGS = [
  '--allow-pre-commit-input',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-crash-reporter',
  '--disable-default-apps',
  '--disable-dev-shm-usage',
  '--disable-features=Translate,AcceptCHFrame,MediaRouter,OptimizationHints,WebUIReloadButton,WebUIOmniboxPopup,WebUIOmniboxAimPopup,ProcessPerSiteUpToMainFrameThreshold,IsolateSandboxedIframes',
  '--disable-hang-monitor',
  '--disable-infobars',
  '--disable-ipc-flooding-protection',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  '--disable-renderer-backgrounding',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--enable-automation',
  '--enable-features=PdfOopif',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  '--metrics-recording-only',
  '--mute-audio',
  '--no-first-run',
  '--password-store=basic',
  '--use-mock-keychain',
]

const FLAGS = [
  ...AUTOMATION_FLAGS,
  // The flag that both headless shell and the full browser accept.
  '--headless',
  '--remote-debugging-pipe',
  // No name and no address resolves. Interception in the page fails each request before that. This covers what interception does not see:
  // preconnect, WebSockets, and TURN over TCP.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--no-pings',
  // WebRTC sends to an address without resolving it. This flag allows that only through a proxy, and there is none.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // A page opened by a script would have no owner, no interception, and would outlive its opener.
  '--block-new-web-contents',
  // V8 derives its own limit from the machine's memory. That could be far below the limit of a page, and scripts would crash at it. So we
  // set the highest value: then we see that a page exceeds its limit before V8 crashes it.
  // After a collection, the heap of a page may grow to five times what lives. By default it is less, and a document of hundreds of rows,
  // whose layout is part of that heap, is searched for garbage again and again while nearly all of it lives.
  '--js-flags=--max-old-space-size=4096 --heap-growing-percent=400',
  // Each of our pages has a context of its own. The one of the start would be a process that nobody uses.
  '--no-startup-window',
  '--disable-gpu',
  '--disable-extensions',
  // Hinting moves glyphs to the pixels of a screen that nobody sees.
  '--font-render-hinting=none',
  '--lang=en-US',
]

/**
 * Starts a browser. Its process begins before this returns, as the caller may be busy afterwards. If it does not start, rejects with the
 * reason and leaves nothing behind.
 */
export async function launchBrowser(settings: LaunchSettings, signal: AbortSignal): Promise<RunningBrowser> {
  const profile = mkdtempSync(join(settings.profileDir, PROFILE_PREFIX))
  const ended = AbortSignal.any([signal, settings.clock.timeout(BROWSER_LAUNCH_MS_MAX)])
  const child = await spawnChromium(settings, profile).catch(async (error: unknown) => {
    await removeProfile(profile)
    throw error
  })
  const lastWords = lastWordsOf(child)
  const running = watchBrowser(child, profile)
  try {
    await raceAbort(running.ping(), ended)
    return running
  } catch (cause) {
    await running.kill()
    ended.throwIfAborted()
    const { exitCode, signal: killedBy } = running.exit()
    throw new Error(`Chromium ended before it answered (${exitCode ?? killedBy}): ${lastWords()}`, { cause })
  }
}

/** Starts the process, as the leader of a group. Rejects if the system cannot start it. */
async function spawnChromium(settings: LaunchSettings, profile: string): Promise<ChildProcess> {
  const { args, env } = commandOf(settings, profile)
  const child = spawn(settings.executablePath, args, {
    env,
    detached: true,
    // It reads commands from the fourth, and writes to the fifth.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  await once(child, 'spawn')
  return child
}

/** The arguments and the environment of a browser with this profile folder. */
export function commandOf(
  { fontConfigFile, isSandboxed }: Pick<LaunchSettings, 'fontConfigFile' | 'isSandboxed'>,
  profile: string,
): { readonly args: string[]; readonly env: Record<string, string> } {
  return {
    args: [...FLAGS, ...(isSandboxed ? [] : ['--no-sandbox']), `--user-data-dir=${profile}`],
    // Nothing of our own environment. Chromium must not see its secrets, and no time zone or language may change a document.
    env: { FONTCONFIG_FILE: fontConfigFile, HOME: profile, TMPDIR: profile, LANG: 'C.UTF-8', TZ: 'UTC' },
  }
}

/** Reads what the process says of its errors, so that it never waits for a reader. The returned function returns the last of it. */
function lastWordsOf({ stderr }: ChildProcess): () => string {
  let words = ''
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-LAST_WORDS_CHARS_MAX)
  })
  return () => words.trim()
}

/** A dozen lines. */
const LAST_WORDS_CHARS_MAX = 2000

/** Removes what browsers of an earlier process left in `profileDir`. Creates the folder if there is none. */
export async function removeStaleProfiles(profileDir: string): Promise<void> {
  await mkdir(profileDir, { recursive: true })
  const stale = (await readdir(profileDir)).filter((name) => name.startsWith(PROFILE_PREFIX))
  await Promise.all(stale.map((name) => removeProfile(join(profileDir, name))))
}

function watchBrowser(child: ChildProcess, profile: string): RunningBrowser {
  const { pid } = child
  assert(pid !== undefined, 'a process that was started has an id')
  const connection = openConnection(pipeOf(child))
  const exited = once(child, 'exit')
  const gone = new AbortController()
  let killing: Promise<void> | undefined
  const kill = () => {
    killing ??= (async () => {
      gone.abort(new BrowserLost(new ServiceError('render_crashed', 'the browser ended while it rendered')))
      // The whole group, because renderers outlive a browser that was killed alone. Also when its leader is dead: the group id stays theirs
      // while they live.
      killGroup(pid)
      await exited
      await removeProfile(profile)
    })()
    return killing
  }
  connection.closed.addEventListener('abort', () => void kill())
  return {
    connection,
    gone: gone.signal,
    exit: () => ({ exitCode: child.exitCode, signal: child.signalCode }),
    kill,
    async ping() {
      await connection.send('Browser.getVersion')
    },
    async processes() {
      const { processInfo } = await connection.send('SystemInfo.getProcessInfo')
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
 * The resident memory of a process group that no file backs. Not the proportional share, because the kernel hides it for processes as
 * protected as Chromium's renderers.
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

/** The first number of a line of /proc/<pid>/status. 0 if there is no such line, as for a dead process. */
function fieldOf(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // No process is left to kill. macOS returns EPERM for a group that is dead and not yet reaped.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error
  }
}

/** Dying processes may still write for a moment. The next engine that opens removes what cannot be removed now. */
async function removeProfile(profile: string): Promise<void> {
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }).catch(() => undefined)
}
