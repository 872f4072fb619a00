/** Finds Chromium on this machine. */
import { access, constants, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The binaries themselves, never the wrappers in /usr/bin: a shell script would stay as the parent and receive the signals meant for
 * Chromium. Headless shell comes first: it starts faster and prints at a fraction of the cost of the full browser.
 */
const SHELLS = ['/usr/lib/chromium/chromium-headless-shell', '/headless-shell/headless-shell']
const FULL_BROWSERS = [
  '/usr/lib/chromium/chromium',
  '/usr/lib/chromium-browser/chromium-browser',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Where puppeteer stores the download of `npx puppeteer browsers install chrome-headless-shell`. */
const PUPPETEER_CACHE = join(homedir(), '.cache', 'puppeteer', 'chrome-headless-shell')

export interface ChromiumSearch {
  /** The path that the operator has set. If it is set, nothing else is tried. */
  readonly configured?: string | undefined
  /** Paths to try instead of the known ones, best first. */
  readonly candidates?: readonly string[]
}

/**
 * The path of Chromium: the configured one, else a headless shell, else a full browser, else undefined. Throws if the configured path is
 * not an executable file: a fallback would hide the mistake.
 */
export async function findChromium({ configured, candidates }: ChromiumSearch): Promise<string | undefined> {
  if (configured !== undefined) {
    if (await isExecutable(configured)) return configured
    throw new Error(`the configured Chromium is not an executable file: ${configured}`)
  }
  for (const path of candidates ?? [...SHELLS, ...(await downloadedShells(PUPPETEER_CACHE)), ...FULL_BROWSERS]) {
    if (await isExecutable(path)) return path
  }
  return undefined
}

/** `<cache>/<platform>-<version>/chrome-headless-shell-<platform>/chrome-headless-shell`, newest version first. */
async function downloadedShells(cache: string): Promise<string[]> {
  const versions = await namesIn(cache)
  versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const paths = versions.map(async (version) => {
    const platforms = await namesIn(join(cache, version))
    return platforms.map((platform) => join(cache, version, platform, 'chrome-headless-shell'))
  })
  return (await Promise.all(paths)).flat()
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
