/**
 * Builds the images of a node: ours, from the published Dockerfile, and the pause image of every pod. Without access to an image registry
 * it builds the base images itself, under the names in the Dockerfile: Debian from its packages, Node from npm.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../architecture/source-tree.ts'
import { imageNamed } from '../../image/dockerfile.ts'

export const TAG = 'test'
/** Names as in `make images`. */
export const IMAGES = ['platen-api', 'platen-renderer', 'platen-events', 'platen-operator', 'platen'] as const
export type ImageName = (typeof IMAGES)[number]
/** Image of the process that holds the namespaces of a pod. */
export const PAUSE = 'localhost/pause:1'

const STORAGE = ['--storage-driver=overlay']
/** Limit for a pull: without a registry, some pulls wait for an answer. */
const PULL_MS_MAX = 60_000

/** Builds all images with `make images`. Layers of unchanged files come from the build cache. */
function buildImages(): void {
  const folder = mkdtempSync(join(tmpdir(), 'platen-images-'))
  try {
    const [node = '', debian = ''] = imageNamed('api').bases
    if (!has(debian)) makeDebian(debian, folder)
    if (!has(node)) makeNode(node, debian, folder)
    if (!has(PAUSE)) makePause(folder)
    const flags = ['--pull=never', '--layers', '--isolation=chroot', ...mountsIn(folder)]
    run('make', ['images', `BUILDER=buildah ${STORAGE.join(' ')}`, `TAG=${TAG}`, `FLAGS=${flags.join(' ')}`])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const imageOf = (name: ImageName) => `localhost/${name}:${TAG}`

/** Returns the user of an image's processes as `uid:gid`. */
export function userOf(name: string): string {
  return buildah('inspect', '--type=image', '--format={{.OCIv1.Config.User}}', name)
}

/** Writes an image to an archive that containerd can import. */
export function archiveOf(name: string, folder: string): string {
  const file = join(folder, `${name.replaceAll(/[^a-z]/g, '-')}.tar`)
  run('buildah', [...STORAGE, 'push', '--quiet', name, `docker-archive:${file}:${name}`])
  return file
}

/** Mounts an image while `action` uses its files. */
export function withImage<Result>(name: string, action: (root: string) => Result): Result {
  const container = buildah('from', '--pull=never', name)
  try {
    return action(buildah('mount', container))
  } finally {
    buildah('rm', container)
  }
}

export function sizeOf(name: string): number {
  return withImage(name, (root) => {
    const [bytes = ''] = execFileSync('du', ['--summarize', '--apparent-size', '--block-size=1', root], {
      encoding: 'utf8',
    }).split('\t')
    return Number(bytes)
  })
}

export const megabytes = (bytes: number) => Math.round(bytes / 1e6)

function has(name: string): boolean {
  const local = spawnSync('buildah', [...STORAGE, 'inspect', '--type=image', name], {
    stdio: 'ignore',
    timeout: PULL_MS_MAX,
  })
  if (local.status === 0) return true
  return (
    spawnSync('buildah', [...STORAGE, 'pull', '--quiet', name], { stdio: 'ignore', timeout: PULL_MS_MAX }).status === 0
  )
}

function makeDebian(name: string, folder: string): void {
  const unused = ['/usr/share/man/*', '/usr/share/locale/*/LC_MESSAGES/*.mo', '/usr/share/doc/*']
  const excludes = unused.map((pattern) => `--dpkgopt=path-exclude=${pattern}`)
  const kept = '--dpkgopt=path-include=/usr/share/doc/*/copyright'
  const suite = /:(\w+)/.exec(name)?.[1] ?? ''
  run('mmdebstrap', ['--variant=minbase', ...excludes, kept, suite, join(folder, 'base.tar'), mirror()])
  build(name, folder, ['FROM scratch', 'ADD base.tar /', 'CMD ["bash"]'])
}

/** Returns the mirror from which this machine gets its own packages. */
function mirror(): string {
  const policy = execFileSync('apt-cache', ['policy'], { encoding: 'utf8' })
  return /(https?:\/\/\S+\/debian)\s/.exec(policy)?.[1] ?? 'http://deb.debian.org/debian'
}

function makeNode(name: string, debian: string, folder: string): void {
  const modules = join(folder, 'npm')
  mkdirSync(modules)
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', modules, 'npm@11'])
  run('cp', [join(ROOT, 'node_modules/node/bin/node'), join(folder, 'node')])
  build(name, folder, [
    `FROM ${debian}`,
    'COPY node /usr/local/bin/node',
    'COPY npm/node_modules/npm /usr/local/lib/node_modules/npm',
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
    'CMD ["node"]',
  ])
}

function makePause(folder: string): void {
  writeFileSync(
    join(folder, 'pause.c'),
    '#include <signal.h>\n#include <unistd.h>\nstatic void end(int n) { _exit(0); }\n' +
      'int main() { signal(SIGTERM, end); signal(SIGINT, end); signal(SIGCHLD, SIG_IGN); for (;;) pause(); }\n',
  )
  run('gcc', ['-static', '-Os', '-o', join(folder, 'pause'), join(folder, 'pause.c')])
  build(PAUSE, folder, ['FROM scratch', 'COPY pause /pause', 'USER 65535:65535', 'ENTRYPOINT ["/pause"]'])
}

function build(name: string, folder: string, lines: readonly string[]): void {
  writeFileSync(join(folder, 'Dockerfile'), lines.join('\n'))
  run('buildah', [...STORAGE, 'build', '--quiet', '--pull=never', '--isolation=chroot', '--tag', name, folder])
}

/** Returns mounts with this machine's registry settings. They are visible during a build and are not in any layer. */
function mountsIn(folder: string): readonly string[] {
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  const own = join(homedir(), '.npmrc')
  writeFileSync(join(folder, 'npmrc'), `${existsSync(own) ? readFileSync(own, 'utf8') : ''}\ncafile=${certificates}\n`)
  const acquired = execFileSync('apt-config', ['dump'], { encoding: 'utf8' }).split('\n')
  writeFileSync(join(folder, 'apt.conf'), acquired.filter((line) => /^Acquire::(Check|http)/.test(line)).join('\n'))
  const mounts = [
    [certificates, certificates],
    [join(folder, 'npmrc'), '/root/.npmrc'],
    [join(folder, 'apt.conf'), '/etc/apt/apt.conf.d/local'],
  ]
  return mounts.map(([from, to]) => `--volume=${from}:${to}:ro`)
}

function buildah(...words: readonly string[]): string {
  return execFileSync('buildah', [...STORAGE, ...words], { encoding: 'utf8' }).trim()
}

function run(command: string, words: readonly string[]): void {
  execFileSync(command, words, { cwd: ROOT, stdio: ['ignore', 2, 2] })
}

if (import.meta.main) buildImages()
