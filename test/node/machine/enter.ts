/**
 * Runs a command in its own network, mount and process namespaces: `enter.ts COMMAND ARGUMENT...`. Everything a Kubernetes node creates
 * besides its processes disappears with these namespaces, however they end: interfaces, routes, rules and mounts. Only files and control
 * groups remain; this program removes them at the end. This machine reaches the node at `INSIDE`, through an interface pair that disappears
 * with the namespace.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SERVICES } from '../../topology/server/kube.ts'
import { BRIDGE, CGROUP, INSIDE, OUTSIDE, PODS, PREFIX } from './address.ts'

const NAMESPACE = 'platen-node'
const NETWORK = `/run/netns/${NAMESPACE}`
const CGROUPS = '/sys/fs/cgroup'

/** Folders of this machine to which a node writes. A mount hides them. */
const HIDDEN = ['/run', '/var/lib/cni', '/var/log/pods', '/var/log/containers']

const [command = '', ...args] = process.argv.slice(2)
process.exitCode = await enter([command, ...args])

async function enter(inner: readonly string[]): Promise<number> {
  const why = whyNot()
  if (why !== undefined) {
    process.stderr.write(`a Kubernetes node cannot run here: ${why}\n`)
    return 1
  }
  remove()
  const folder = mkdtempSync(join(tmpdir(), 'platen-node-'))
  ip('netns', 'add', NAMESPACE)
  try {
    ip('link', 'add', NAMESPACE, 'type', 'veth', 'peer', 'name', 'outside', 'netns', NAMESPACE)
    ip('address', 'add', `${OUTSIDE}/${PREFIX}`, 'dev', NAMESPACE)
    ip('link', 'set', NAMESPACE, 'up')
    ip('-n', NAMESPACE, 'address', 'add', `${INSIDE}/${PREFIX}`, 'dev', 'outside')
    for (const device of ['lo', 'outside']) ip('-n', NAMESPACE, 'link', 'set', device, 'up')
    // The kernel redirects traffic to Services only when a route for it exists.
    ip('-n', NAMESPACE, 'route', 'add', 'default', 'via', OUTSIDE)
    // Makes pods and Services reachable from this machine, too.
    for (const network of [PODS, SERVICES]) ip('route', 'add', network, 'via', INSIDE)
    makeCgroups()
    const env = { ...process.env, TMPDIR: folder, TEST_SERVERS_HOST: BRIDGE }
    // The namespace file is opened before the mount that hides it.
    const hide = HIDDEN.map((folder) => `mkdir -p ${folder} && mount -t tmpfs tmpfs ${folder}`).join(' && ')
    const script = ['-c', `${hide} && exec "$@"`, 'inside', ...inner]
    const unshare = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', ...script]
    const child = spawn('nsenter', [`--net=${NETWORK}`, 'unshare', ...unshare], { stdio: 'inherit', env })
    // Ctrl-C also reaches the command itself, which then ends. SIGTERM does not.
    process.on('SIGINT', () => undefined)
    process.on('SIGTERM', () => child.kill('SIGKILL'))
    const [code] = await once(child, 'exit')
    return typeof code === 'number' ? code : 1
  } finally {
    remove()
    rmSync(folder, { recursive: true })
  }
}

function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'it takes Linux'
  if (process.getuid?.() !== 0) return 'it takes root'
  if (existsSync(NETWORK) && execFileSync('ip', ['netns', 'pids', NAMESPACE]).length > 0) return 'there is one already'
  return undefined
}

/** Removes everything that remains of a node, of this one or of one that was killed. */
function remove(): void {
  // The kernel would remove it with the namespace, but some time after the deletion.
  if (existsSync(`/sys/class/net/${NAMESPACE}`)) ip('link', 'delete', NAMESPACE)
  if (existsSync(NETWORK)) ip('netns', 'delete', NAMESPACE)
  for (const hierarchy of hierarchies()) removeCgroup(join(hierarchy, CGROUP))
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Returns the roots of the control groups: one for cgroup v2, several for v1. */
function hierarchies(): readonly string[] {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [CGROUPS]
  return readdirSync(CGROUPS).map((name) => join(CGROUPS, name))
}

function makeCgroups(): void {
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, CGROUP), { recursive: true })
}

/** Removes a control group with its subgroups, from the leaves up. Only folders can be removed. */
function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name))
  rmdirSync(folder)
}
