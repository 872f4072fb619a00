/**
 * One Chromium process: how it is started, how it is known to be gone, and how nothing of it stays behind.
 *
 * It is driven through a pipe, never a socket: nobody else on the machine can reach it, and when this process is killed with
 * no time to clean up, the pipe closes and Chromium exits by itself.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@platen/contract/error.ts'
import { BROWSER_LAUNCH_MS_MAX } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { raceAbort } from '@platen/contract/race.ts'
import type { Browser, CDPSession, PuppeteerNode } from 'puppeteer'

/** A document has lost its browser, or must leave it, and what another did there may be the cause. */
export class BrowserLost extends Error {
  override readonly name = 'BrowserLost'
  /** How its render ends where no other document was in the browser. */
  readonly failure: ServiceError

  constructor(failure: ServiceError) {
    super(failure.message, { cause: failure.cause })
    this.failure = failure
  }
}

export interface RunningBrowser {
  readonly browser: Browser
  /** Aborts when the process has gone or is being killed; the reason is a `BrowserLost` with `render_crashed`. */
  readonly gone: AbortSignal
  /** Kills the whole process group. Resolves when it is dead and its profile folder removed; twice is fine. */
  kill(): Promise<void>
  /** Resolves when the browser has given a sign of life. Rejects when it has gone; while it hangs it does neither. */
  ping(): Promise<void>
  /** Settles as `ping` does. */
  processes(): Promise<readonly BrowserProcess[]>
  /** Memory that is its own, all of its processes together; undefined where there is no /proc to tell. */
  memoryBytes(): Promise<number | undefined>
}

export interface BrowserProcess {
  readonly id: number
  /** `renderer` for one of pages. */
  readonly type: string
}

export interface LaunchSettings {
  readonly clock: Clock
  readonly puppeteer: Pick<PuppeteerNode, 'launch'>
  readonly executablePath: string
  /** Folder under which each browser gets a profile folder of its own. */
  readonly profileDir: string
  readonly fontConfigFile: string
  /** False runs Chromium without its own sandbox, as root or without user namespaces must. */
  readonly isSandboxed: boolean
}

/** Above every deadline of a plan: our own signals end what takes too long, and this only what was forgotten. */
const PROTOCOL_MS_MAX = 15 * 60_000

const PROFILE_PREFIX = 'browser-'

const FLAGS = [
  // No name and no address resolves. Interception in the page fails each request before it comes to that; this is for what
  // it does not see, such as preconnect, WebSockets, and TURN over TCP.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-proxy-server',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--no-pings',
  // WebRTC sends to an address without resolving it. It may do so through a proxy only, and there is none.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // A page that scripts open would be nobody's, without interception and beyond its opener's life.
  '--block-new-web-contents',
  // V8's own limit follows from the memory of the machine, and could be far below that of a page: scripts would crash at it.
  // Its highest, so that a page is seen to be above its own before.
  '--js-flags=--max-old-space-size=4096',
  '--disable-gpu',
  '--disable-extensions',
  // Hinting moves glyphs to the pixels of a screen nobody looks at.
  '--font-render-hinting=none',
  '--lang=en-US',
]

/** Tags and outline cost half the CPU of a long document, and 25 times the bytes. */
const UNWANTED_FLAGS = ['--export-tagged-pdf', '--generate-pdf-document-outline']

/** Starts a browser. Rejects with what Chromium or puppeteer said when it does not start, leaving nothing behind. */
export async function launchBrowser(settings: LaunchSettings, signal: AbortSignal): Promise<RunningBrowser> {
  const profile = await mkdtemp(join(settings.profileDir, PROFILE_PREFIX))
  const ended = AbortSignal.any([signal, settings.clock.timeout(BROWSER_LAUNCH_MS_MAX)])
  const failed = new AbortController()
  try {
    const launching = settings.puppeteer.launch({
      executablePath: settings.executablePath,
      // The flag both headless shell and the full browser understand.
      headless: 'shell',
      pipe: true,
      userDataDir: profile,
      args: settings.isSandboxed ? FLAGS : [...FLAGS, '--no-sandbox'],
      ignoreDefaultArgs: UNWANTED_FLAGS,
      // Nothing of our own environment: no secret in it is Chromium's business, and no zone or language may change a document.
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
      // Events nobody reads; a data: URL would travel in them once more.
      networkEnabled: false,
      issuesEnabled: false,
      defaultViewport: null,
      waitForInitialPage: false,
      protocolTimeout: PROTOCOL_MS_MAX,
      // It would kill the process group at any later time as well, so it is not `ended`.
      signal: failed.signal,
    })
    return watchBrowser(await raceAbort(launching, ended), profile)
  } catch (error) {
    failed.abort()
    await removeProfile(profile)
    throw error
  }
}

/** Removes what browsers of an earlier process left in `profileDir`, making the folder where there is none. */
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

  // Of its own, as what puppeteer asks a browser itself it asks once, and remembers. One for all who ask and for as long as it lives:
  // when a session of a browser is closed, puppeteer at times forgets the browser, and whoever asks next is told there is none.
  const session: Promise<CDPSession> = browser.target().createCDPSession()
  session.catch(() => undefined)
  let killing: Promise<void> | undefined
  const kill = () => {
    killing ??= (async () => {
      gone.abort(new BrowserLost(new ServiceError('render_crashed', 'the browser ended while it rendered')))
      // The group, as renderers outlive a browser that was killed alone. Without its leader too: the id is theirs while they live.
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
    kill,
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
 * Resident memory of a process group that no file stands behind. Not the proportional share, which the system keeps to itself for
 * processes as well guarded as Chromium's renderers.
 */
async function memoryOfGroup(leader: number): Promise<number | undefined> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  // A process may end before it is read.
  const statuses = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')))
  const members = statuses.filter((status) => fieldOf(status, 'NSpgid') === leader)
  if (members.length === 0) return undefined
  const kibs = members.map((status) => fieldOf(status, 'RssAnon') + fieldOf(status, 'RssShmem'))
  return kibs.reduce((sum, kib) => sum + kib, 0) * 1024
}

/** The first number of a line of /proc/<pid>/status; 0 where there is none, as of the dead. */
function fieldOf(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // Nobody left to kill; macOS says EPERM of a group that is dead and not yet buried.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error
  }
}

/** Dying processes may still write for a moment. What cannot be removed now is swept when the next engine opens. */
async function removeProfile(profile: string): Promise<void> {
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }).catch(() => undefined)
}
