/**
 * Every process of a cluster in an old version beside the others in a new one, and the other way round, up and down, with what was
 * accepted meanwhile. `docs/upgrades.md` tells operators what these tests show.
 *
 * There are two pairs of versions: this one and an artificial next one, which has a format more; and the last release, if there is one,
 * and this one.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type RenderId, renderUuid } from '@platen/contract/render-id.ts'
import { expect, test } from 'vitest'
import { mutantOptions } from '../chaos/cluster/rig/mutant.ts'
import { NEXT_FORMAT, NEXT_VERSION } from '../chaos/cluster/rig/next-version.ts'
import { ofTest, shared } from '../fixture/lifetime.ts'
import { liveOf, manifestOf } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import type { Deployable } from '../topology/cluster/cluster.ts'
import { aReceiver, LOOPBACK_ALLOWED, type Receiver } from '../topology/receiver.ts'
import { ended, render, statusOf, submit } from '../topology/service.ts'
import { aCluster, aTenant, connectTo, LETTER, offsetsIn } from './harness.ts'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const LIVE = liveOf('acme')
const LIMITS = { syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000 }
const KINDS = ['api', 'renderer', 'events', 'publish'] as const satisfies readonly Deployable[]
type Kind = (typeof KINDS)[number]

/** The code of a version, and how to start it. */
interface Version {
  readonly tree: string
  readonly settings: Readonly<Record<string, string>>
}

const THIS: Version = { tree: ROOT, settings: {} }
/** The next version: it reads and writes one format more. */
const NEXT: Version = {
  tree: ROOT,
  settings: mutantOptions(NEXT_VERSION),
}

/** A cluster of which each process has one of two versions. The first one is old in all of them. */
async function aMixedCluster({ old, next }: { readonly old: Version; readonly next: Version }) {
  await using stack = new AsyncDisposableStack()
  const receiver = stack.use(await aReceiver())
  const newer = new Set<Kind>()
  let format: number | undefined
  // Only the kinds of `KINDS` run here.
  const isNew = (name: Deployable) => newer.has(name as Kind)
  const cluster = stack.use(
    await aCluster({
      documents: aTenant('acme', LIVE, LIMITS),
      settings: LOOPBACK_ALLOWED,
      treeOf: (name) => (isNew(name) ? next : old).tree,
      settingsOf: (name) =>
        isNew(name) ? { ...next.settings, ...(format !== undefined && { PLATEN_FORMAT: `${format}` }) } : old.settings,
    }),
  )
  const restart = async (kind: Kind) => {
    for (const each of cluster.processes(kind)) {
      if (each.isRunning()) expect(await each.stop()).toBe(0)
      await each.start()
    }
  }
  const owned = stack.move()
  return {
    ...cluster,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
    receiver,
    service: cluster.at(0),
    /** Starts the processes of a kind again: in the new version if they were old, else in the old one. */
    async swap(kind: Kind) {
      if (!newer.delete(kind)) newer.add(kind)
      await restart(kind)
    },
    /** Starts all processes again in the new version, told to write this format. */
    async upgrade(written: number) {
      format = written
      for (const kind of KINDS) newer.add(kind)
      await Promise.all(KINDS.map(restart))
    },
    /** Starts all processes again in the old version, at once. */
    async rollBack() {
      newer.clear()
      await Promise.all(KINDS.map(restart))
    },
  }
}

type MixedCluster = Awaited<ReturnType<typeof aMixedCluster>>

/** Submits renders whose webhooks go to the receiver. */
async function submitSome({ service, receiver }: MixedCluster): Promise<readonly RenderId[]> {
  const body = { ...LETTER, webhook_url: `${receiver.url}/hook` }
  const ids = await Promise.all([1, 2, 3].map(() => submit(service, LIVE, body)))
  // The service has given them.
  return ids as RenderId[]
}

/** Expects that renders end well, and that the webhook of each arrives. */
async function expectDone({ service, receiver }: MixedCluster, ids: readonly RenderId[]): Promise<void> {
  const records = await Promise.all(ids.map((id) => ended(service, LIVE, id)))
  expect(records.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
  await poll(() => bodiesOf(receiver)).until((bodies) => ids.every((id) => bodies.has(renderUuid(id))))
}

/** The renders of which the receiver was told. */
function bodiesOf({ received }: Receiver): ReadonlySet<string> {
  return new Set(received.map(({ body }) => String((JSON.parse(body) as { id: unknown }).id)))
}

async function recordsIn({ broker, topicPrefix }: MixedCluster, topic: string, signal: AbortSignal): Promise<number> {
  await using connection = await connectTo(broker, signal)
  const partitions = await offsetsIn(connection, topicPrefix + topic, signal)
  return partitions.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0)
}

async function expectNothingBuried(cluster: MixedCluster, signal: AbortSignal): Promise<void> {
  for (const topic of ['render.dead', 'webhook.dead']) expect(await recordsIn(cluster, topic, signal)).toBe(0)
}

/**
 * Restarts one kind of process after the other in the new version, and then in the same order in the old one. So for any two kinds, each
 * runs in the new version beside the other in the old one. What is accepted before a restart ends after it.
 */
async function upAndDown(cluster: MixedCluster, signal: AbortSignal): Promise<void> {
  for (const kind of [...KINDS, ...KINDS]) {
    const before = await submitSome(cluster)
    await cluster.swap(kind)
    await expectDone(cluster, [...before, ...(await submitSome(cluster))])
    expect((await render(cluster.service, LIVE, LETTER)).status).toBe(200)
  }
  await expectNothingBuried(cluster, signal)
  expect(await recordsIn(cluster, 'record.newer', signal)).toBe(0)
}

const cluster = shared(() => aMixedCluster({ old: THIS, next: NEXT }))

test('processes of this version and the next work together, up and down', async ({ signal }) => {
  await upAndDown(cluster(), signal)
})

test('processes of the last release and this version work together, up and down', async ({ signal, skip }) => {
  const old = await lastRelease()
  if (old === undefined) return skip('there is no tag of a release in this repository')
  await using mixed = await aMixedCluster({ old, next: THIS })
  await upAndDown(mixed, signal)
})

test('a webhook secret that is rotated amid an upgrade signs beside the old one, in both versions', async () => {
  const mixed = cluster()
  await mixed.swap('publish')
  const rotation = { annotations: { 'platen.dev/rotate-webhook-secret': new Date().toISOString() } }
  const documents = aTenant('acme', LIVE, LIMITS).map((document) => {
    // They are resources with a kind and metadata.
    const { kind, metadata } = document as { kind: string; metadata: object }
    return kind === 'Tenant' ? { ...document, metadata: { ...metadata, ...rotation } } : document
  })
  await writeFile(join(mixed.manifestsDir, 'all.yaml'), manifestOf(documents))
  const signatures = async () => {
    const seen = mixed.receiver.received.length
    await expectDone(mixed, (await submitSome(mixed)).slice(0, 1))
    return mixed.receiver.received.slice(seen).map(({ headers }) => String(headers['webhook-signature']).split(' '))
  }
  await poll(signatures).until((all) => all.some((each) => each.length === 2))
  for (const kind of ['events', 'publish', 'events'] as const) {
    await mixed.swap(kind)
    expect((await signatures()).map((each) => each.length)).toContain(2)
  }
})

test('a rollback with newer records in every queue makes no dead letter and blocks nothing, and the next upgrade continues with them', async ({
  signal,
}) => {
  const mixed = cluster()
  const { receiver, service } = mixed
  await mixed.upgrade(NEXT_FORMAT)
  // Of the first, the render has ended and its webhook is due again; the others wait for a renderer.
  receiver.answer((_request, response) => response.writeHead(500).end())
  const due = await submitSome(mixed)
  await poll(() => bodiesOf(receiver)).until((seen) => due.every((id) => seen.has(renderUuid(id))))
  for (const renderer of mixed.processes('renderer')) await renderer.stop()
  const waiting = await submitSome(mixed)
  receiver.answer((_request, response) => response.writeHead(204).end())
  receiver.received.length = 0
  await mixed.rollBack()
  // Old renders and webhooks do not wait for newer ones.
  await expectDone(mixed, await submitSome(mixed))
  await poll(() => recordsIn(mixed, 'record.newer', signal)).until((count) => count >= waiting.length)
  for (const id of waiting) expect((await statusOf(service, LIVE, id)).status).toBe('queued')
  expect(mixed.log()).toContain('record set aside for a newer version')
  await mixed.upgrade(NEXT_FORMAT)
  await expectDone(mixed, [...due, ...waiting])
  await expectNothingBuried(mixed, signal)
})

/** Unpacks the last release, and gives it the packages that this tree has. */
async function lastRelease(): Promise<Version | undefined> {
  const tag = await run('git', ['-C', ROOT, 'describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD'])
    .then(({ stdout }) => stdout.trim())
    .catch(() => undefined)
  if (tag === undefined) return undefined
  const tree = await mkdtemp(join(tmpdir(), 'platen-release-'))
  ofTest({ [Symbol.asyncDispose]: () => rm(tree, { recursive: true, force: true }) })
  await run('sh', ['-c', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', ROOT, tag, tree])
  await linkPackages(tree)
  // In its own time: the waits that tests shorten are those of this tree.
  return { tree, settings: { NODE_OPTIONS: '' } }
}

/** Links all packages of this tree, but our own to those of the other tree. */
async function linkPackages(tree: string): Promise<void> {
  const [ours, theirs] = [join(ROOT, 'node_modules'), join(tree, 'node_modules')]
  await mkdir(join(theirs, '@platen'), { recursive: true })
  const packages = (await readdir(ours)).filter((name) => name !== '@platen')
  await Promise.all(packages.map((name) => symlink(join(ours, name), join(theirs, name))))
  const own = await readdir(join(ours, '@platen'))
  await Promise.all(own.map((name) => symlink(join(tree, name), join(theirs, '@platen', name))))
}
