import { access, constants } from 'node:fs/promises'

/**
 * Paths of Debian's packages and of the headless shell image, where puppeteer does not look. These are the binaries, never the wrappers in
 * /usr/bin: a shell script would stay as the parent and receive the signals meant for Chromium. Headless shell comes first: it starts
 * faster and prints at a fraction of the cost of the full browser.
 */
const PACKAGED = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/headless-shell/headless-shell',
  '/usr/lib/chromium/chromium',
  '/usr/lib/chromium-browser/chromium-browser',
]

interface ChromiumSearch {
  /** No other path is tried then. */
  readonly configured?: string | undefined
  /** Paths to try instead of the known ones, best first. */
  readonly candidates?: readonly string[]
}

/**
 * The path of Chromium: the configured one, else the one that puppeteer is configured with or has downloaded, else that of a package, else
 * Google Chrome, else undefined. Throws if the configured path is not an executable file: a fallback would hide the mistake.
 */
export async function findChromium({ configured, candidates }: ChromiumSearch): Promise<string | undefined> {
  if (configured !== undefined) {
    if (await isExecutable(configured)) return configured
    throw new Error(`the configured Chromium is not an executable file: ${configured}`)
  }
  for (const path of candidates ?? (await knownPaths())) {
    if (await isExecutable(path)) return path
  }
  return undefined
}

async function knownPaths(): Promise<readonly string[]> {
  // Loaded lazily: a process without Chromium does not need it.
  const { executablePath } = await import('puppeteer')
  return [await executablePath({ headless: 'shell' }), ...PACKAGED, await executablePath('chrome')]
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
