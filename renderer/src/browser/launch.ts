/**
 * One Chromium process: how it starts, how we know that it has exited, and how everything of it is removed.
 *
 * We control it through a pipe, never a socket, so nobody else on the machine can reach it. If this process is killed without time to clean
 * up, the pipe closes and Chromium exits by itself.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@platen/contract/error.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { Browser, BrowserContext, CDPSession, PuppeteerNode, Target } from 'puppeteer'
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
  readonly browser: Browser
  /** Aborts when the process has exited or is being killed. The reason is a `BrowserLost` with `render_crashed`. */
  readonly gone: AbortSignal
  /** How its process exited, once it has: by itself with a code, or by a signal. */
  exit(): { readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }
  /** Kills the whole process group. Resolves when it is dead and its profile folder is removed. May be called twice. */
  kill(): Promise<void>
  /** Opens a page in a context that has none, in a window that is minimized. Resolves and rejects as `ping` does. */
  openTarget(context: BrowserContext): Promise<Target>
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
  readonly puppeteer: Pick<PuppeteerNode, 'launch'>
  readonly executablePath: string
  /** The folder in which each browser gets its own profile folder. */
  readonly profileDir: string
  readonly fontConfigFile: string
  /** False runs Chromium without its own sandbox. Needed as root or without user namespaces. */
  readonly isSandboxed: boolean
}

/** Above every deadline of a plan. Our own signals end slow calls; this ends only forgotten ones. */
const PROTOCOL_MS_MAX = 15 * 60_000

const PROFILE_PREFIX = 'browser-'

const FLAGS = [
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
  '--js-flags=--max-old-space-size=4096',
  // Each of our pages has a context of its own. The one of the start would be a process that nobody uses.
  '--no-startup-window',
  '--disable-gpu',
  '--disable-extensions',
  // Hinting moves glyphs to the pixels of a screen that nobody sees.
  '--font-render-hinting=none',
  '--lang=en-US',
]

/** Tags and outline cost half the CPU of a long document, and 25 times the bytes. The address would open a page. */
const UNWANTED_FLAGS = ['--export-tagged-pdf', '--generate-pdf-document-outline', 'about:blank']

/** Starts a browser. If it does not start, rejects with the error of Chromium or puppeteer and leaves nothing behind. */
export async function launchBrowser(settings: LaunchSettings, signal: AbortSignal): Promise<RunningBrowser> {
  const profile = await mkdtemp(join(settings.profileDir, PROFILE_PREFIX))
  const ended = AbortSignal.any([signal, settings.clock.timeout(BROWSER_LAUNCH_MS_MAX)])
  const failed = new AbortController()
  try {
    const launching = settings.puppeteer.launch({
      executablePath: settings.executablePath,
      // The flag that both headless shell and the full browser accept.
      headless: 'shell',
      pipe: true,
      userDataDir: profile,
      args: settings.isSandboxed ? FLAGS : [...FLAGS, '--no-sandbox'],
      ignoreDefaultArgs: UNWANTED_FLAGS,
      // Nothing of our own environment. Chromium must not see its secrets, and no time zone or language may change a document.
      env: {
        FONTCONFIG_FILE: settings.fontConfigFile,
        HOME: profile,
        TMPDIR: profile,
        LANG: 'C.UTF-8',
        TZ: 'UTC',
      },
      // Signals are for our own shutdown, which drains first.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      // Nobody reads these events, and each would carry a data: URL once more.
      networkEnabled: false,
      issuesEnabled: false,
      defaultViewport: null,
      waitForInitialPage: false,
      protocolTimeout: PROTOCOL_MS_MAX,
      // Not `ended`, because this signal would also kill the process group at any later time.
      signal: failed.signal,
    })
    return watchBrowser(await raceAbort(launching, ended), profile)
  } catch (error) {
    failed.abort()
    await removeProfile(profile)
    throw error
  }
}

/** Removes what browsers of an earlier process left in `profileDir`. Creates the folder if there is none. */
export async function removeStaleProfiles(profileDir: string): Promise<void> {
  await mkdir(profileDir, { recursive: true })
  const stale = (await readdir(profileDir)).filter((name) => name.startsWith(PROFILE_PREFIX))
  await Promise.all(stale.map((name) => removeProfile(join(profileDir, name))))
}

function watchBrowser(browser: Browser, profile: string): RunningBrowser {
  const child = browser.process()
  assert(child?.pid !== undefined, 'a launched browser has a process')
  const { pid } = child
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const exited = isRunning() ? once(child, 'exit') : Promise.resolve()
  const gone = new AbortController()

  // A session of our own, because puppeteer asks the browser only once for its own needs and remembers the answer. One session for all
  // callers, for the life of the browser: when a browser session closes, puppeteer sometimes forgets the browser, and the next call fails.
  const session: Promise<CDPSession> = browser.target().createCDPSession()
  session.catch(() => undefined)
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
  browser.once('disconnected', () => void kill())
  assert(browser.connected, 'a browser is watched from its first moment')
  return {
    browser,
    gone: gone.signal,
    exit: () => ({ exitCode: child.exitCode, signal: child.signalCode }),
    kill,
    async openTarget(context) {
      const { id: browserContextId } = context
      const page = { url: 'about:blank', windowState: 'minimized' } as const
      await (await session).send('Target.createTarget', { ...page, ...(browserContextId && { browserContextId }) })
      return await context.waitForTarget(() => true)
    },
    async ping() {
      await (await session).send('Browser.getVersion')
    },
    async processes() {
      const { processInfo } = await (await session).send('SystemInfo.getProcessInfo')
      return processInfo
    },
    memoryBytes: () => memoryOfGroup(pid),
  }
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
