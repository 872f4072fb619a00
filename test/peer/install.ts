/**
 * Puts what the service is compared with into the cache of the tests' servers, once. Every version is pinned: Gotenberg's here, the others
 * in the lock files of `package`, and the full Chromium is that of the headless shell on this machine.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../topology/server/binary.ts'
import { buildInCache, goJson, run } from '../topology/server/install.ts'

export const GOTENBERG = '8.36.0'

interface Part {
  /** Its folder in the cache, which names what it is made from. */
  home(): string
  build(folder: string): void
}

const PARTS = {
  gotenberg: { home: () => `gotenberg-${GOTENBERG}`, build: buildGotenberg },
  jsreport: { home: () => `jsreport-${digestOf('package-lock.json')}`, build: installJsreport },
  python: { home: () => `python-${digestOf('requirements.txt')}`, build: installPythonPackages },
  chromium: { home: () => `chromium-${chromiumVersion()}`, build: unpackChromium },
} as const satisfies Record<string, Part>

/** The folder of a part, which is built if it is missing. Throws if it cannot be. */
export function installed(name: keyof typeof PARTS): string {
  const cache = cacheFolder(process.env)
  const { home, build } = PARTS[name]
  const folder = join(cache, home())
  if (!existsSync(folder)) buildInCache(home(), build, cache)
  return folder
}

/** The variant without LibreOffice. Its module is not installed by name, as the proxy does not list its versions. */
function buildGotenberg(folder: string): void {
  const { Dir: unpacked } = goJson(['mod', 'download', '-json', `github.com/gotenberg/gotenberg/v8@v${GOTENBERG}`])
  const flags = ['-mod=readonly', '-ldflags=-s -w', '-o', join(folder, 'gotenberg')]
  run('go', ['build', '-C', String(unpacked), ...flags, './cmd/gotenberg-chromium'], { CGO_ENABLED: '0' })
  mkdirSync(join(folder, 'hyphen'))
}

function installJsreport(folder: string): void {
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(lockFile(name), join(folder, name))
  // Its puppeteer would download a browser.
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder])
}

function installPythonPackages(folder: string): void {
  const flags = ['--quiet', '--disable-pip-version-check', '--no-deps', '--require-hashes']
  run('python3', ['-m', 'pip', 'install', ...flags, '--target', folder, '-r', lockFile('requirements.txt')])
}

/** From Debian's packages, and not installed: then it would be what the service finds. */
function unpackChromium(folder: string): void {
  for (const name of ['chromium', 'chromium-common']) {
    execFileSync('apt-get', ['download', `${name}=${chromiumVersion()}`], { cwd: folder, stdio: ['ignore', 2, 2] })
  }
  const packages = readdirSync(folder).map((name) => join(folder, name))
  for (const file of packages) {
    run('dpkg', ['--extract', file, folder])
    rmSync(file)
  }
}

function chromiumVersion(): string {
  return execFileSync('dpkg-query', ['--show', '--showformat=${Version}', 'chromium-headless-shell'], {
    encoding: 'utf8',
  })
}

function digestOf(name: string): string {
  return createHash('sha256')
    .update(readFileSync(lockFile(name)))
    .digest('hex')
    .slice(0, 12)
}

function lockFile(name: string): string {
  return join(import.meta.dirname, 'package', name)
}
