/**
 * The publisher of the directory in Redis. It never blocks Redis for long, and readers see each revision whole or not at all. Only the
 * publisher with the highest epoch may write; others get `Fenced`. Concurrent calls run one after the other.
 */

import { FORMAT } from '@platen/contract/domain/format.ts'
import type { Limits, TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectoryPublisher, DirectorySettings, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { PersistentMap } from '@platen/lib/persistent-map.ts'
import { openSerialQueue } from '@platen/lib/serial-queue.ts'
import type { RedisConnection } from '../connect.ts'
import { DIRECTORY_REPORT_KEPT_MS } from '../limit.ts'
import { writeLimits } from '../limiter-settings.ts'
import type { Script } from '../script.ts'
import { directoryScript, readMeta, scanFields, unreadable } from './layout.ts'
import { changesTo, findSuspects, type Suspects } from './publish/audit.ts'
import { type Change, changesBetween, type Difference, differencesIn } from './publish/difference.ts'
import { type Enforcement, enforcementOf } from './publish/known-revisions.ts'
import { claim, fencedBy, type Published } from './publish/write.ts'
import { openWriter, type Writer } from './publish/writer.ts'
import { EMPTY, openSnapshotBuilder } from './snapshot-builder.ts'
import { KINDS, type Kind, NO_VALUES, type Values, valueReader, valueWriter } from './value.ts'

interface PublisherOptions {
  readonly redis: RedisConnection
  readonly ids: Ids
  /** Refused if a higher one has written; absent = the next one, which fences all earlier publishers. */
  readonly epoch?: number
  /**
   * Called when a write found that Redis had lost the last revision, or held another one, and has written all settings again, as this
   * revision. Any method that writes may find that. Not called if the answer to that write was lost.
   */
  readonly onLost?: (revision: number) => void
}

export interface RedisPublisher extends DirectoryPublisher {
  readonly epoch: number
  /** As in the port, even if another publisher wrote it. */
  revision(): number
  /**
   * As in the port. If no revision is known, the time in milliseconds. So it is above everything published before Redis was emptied, which
   * readers may still hold.
   */
  nextRevision(): number
  /** The published settings, whoever wrote them. Leaves out damaged values, and calls `onDamage` for each. */
  published(onDamage: (kind: Kind, name: string) => void): DirectorySnapshot
  /** How these settings differ from the published ones. */
  differences(settings: DirectorySettings): readonly Difference[]
  /**
   * Reads all values in Redis, and publishes the last revision again, whole or not at all, if some differ. Readers that loaded damaged
   * values then load the good ones. Returns the differences: `added` = was lost, `removed` = was written by somebody else. Blocks no other
   * call while it reads. Throws as `publish` does.
   */
  audit(signal: AbortSignal): Promise<readonly Difference[]>
  /** Which revision the readers enforce. Throws `Fenced` or `Unavailable`. */
  enforced(signal: AbortSignal): Promise<Enforcement>
  /** How many processes report their revision, and how many of them enforce the last one. Throws as `enforced` does. */
  readers(signal: AbortSignal): Promise<{ readonly all: number; readonly enforcing: number }>
}

/**
 * Claims the right to publish. Throws if the published settings are of a newer format, and claims nothing then. `publish` throws `Fenced`,
 * and `RangeError` for a revision that is not above all published or attempted ones. It also throws `Unavailable`: the revision may then be
 * published or not, and the next `publish` or `repair` finds out.
 */
export async function openRedisPublisher(
  { redis, ids, epoch: asked, onLost = () => undefined }: PublisherOptions,
  signal: AbortSignal,
): Promise<RedisPublisher> {
  const why = unreadable((await readMeta(redis, signal)) ?? { schema: FORMAT })
  if (why !== undefined) throw new Error(why)
  const script = directoryScript(redis)
  const { epoch, now } = await claim(script, asked, signal)
  // From here on nobody else writes, so all batches belong to one revision.
  const found = await readPublished(redis, signal)
  const writer = openWriter({ redis, ids, script, epoch, found, onLost, now })
  const runSerially = openSerialQueue()
  const valuesOf = valueWriter(() => writer.last().values)
  const enforced = enforcementReader(script, { epoch, writer })
  const differences = (settings: DirectorySettings) =>
    differencesIn(changesBetween(writer.last().values, valuesOf(settings)))
  return {
    epoch,
    revision: () => writer.last().revision,
    nextRevision: () => writer.nextRevision(),
    published: (onDamage) => settingsIn(writer.last(), onDamage),
    differences,
    isPublished: (settings) => writer.last().revision > 0 && differences(settings).length === 0,
    publish: (snapshot, publishSignal) =>
      runSerially(async () => {
        await writer.reclaim(publishSignal)
        const { revision } = snapshot
        if (!(revision > writer.highest()))
          throw new RangeError(`revision ${revision} is not newer than ${writer.highest()}`)
        const { values: before } = writer.last()
        const values = valuesOf(snapshot)
        const changes = changesBetween(before, values)
        await writeLimits(redis, { revision, limits: changedLimits(changes, { snapshot, before }) }, publishSignal)
        await writer.publish({ values, revision, changes }, publishSignal)
      }, publishSignal),
    repair: (repairSignal) =>
      runSerially(async () => {
        const stored = await writer.reclaim(repairSignal)
        const { revisionId } = writer.last()
        if (revisionId === undefined || stored.mark === revisionId) return false
        await writer.republish({ stored }, repairSignal)
        return true
      }, repairSignal),
    async audit(auditSignal) {
      const suspects = await findSuspects(redis, () => writer.last().values, auditSignal)
      return runSerially(() => repairSuspects(redis, { writer, suspects }, auditSignal), auditSignal)
    },
    enforced,
    async readers(readersSignal) {
      const { all, behind } = await enforced(readersSignal)
      return { all, enforcing: all - behind }
    },
  }
}

function settingsIn({ values, revision }: Published, onDamage: (kind: Kind, name: string) => void): DirectorySnapshot {
  const builder = openSnapshotBuilder({ base: EMPTY, lastGood: EMPTY, read: valueReader(), onDamage })
  for (const kind of KINDS) for (const [name, text] of values[kind]) builder.set(kind, name, text)
  return builder.build(revision)
}

/** The second half of an audit: reads the suspects again and repairs them. */
async function repairSuspects(
  redis: RedisConnection,
  { writer, suspects }: { readonly writer: Writer; readonly suspects: Suspects },
  signal: AbortSignal,
): Promise<readonly Difference[]> {
  const stored = await writer.reclaim(signal)
  const { values, revisionId, revision } = writer.last()
  if (revisionId === undefined) return []
  const changes = await changesTo(values, { redis, suspects }, signal)
  const isKnown = stored.mark === revisionId && stored.revision === revision && stored.schema === FORMAT
  if (isKnown && changes.length === 0) return []
  await writer.republish({ stored, changes }, signal)
  // A reader of an older revision id may have loaded a damaged value.
  if (changes.length > 0) writer.known.keepLast()
  return differencesIn(changes)
}

function enforcementReader(
  script: Script['run'],
  { epoch, writer }: { readonly epoch: number; readonly writer: Writer },
): RedisPublisher['enforced'] {
  return async (signal) => {
    const request = { operation: 'readers', reportedMs: DIRECTORY_REPORT_KEPT_MS }
    // The script returns what readers have reported through it.
    const { reports, epoch: theirs, knownMs } = (await script({ keys: [], request }, signal)) as ReadersAnswer
    if (theirs > epoch) throw fencedBy(theirs, epoch)
    const marks = Object.values(reports).map(({ mark }) => mark)
    const { revision: last } = writer.last()
    return {
      ...enforcementOf(marks, { known: writer.known, last }),
      isCertain: knownMs >= DIRECTORY_REPORT_KEPT_MS,
    }
  }
}

interface ReadersAnswer {
  /** A list, which Lua encodes as an object when it is empty. */
  readonly reports: Readonly<Record<string, { readonly mark: string }>>
  readonly epoch: number
  /** For how many milliseconds reports have been collected. */
  readonly knownMs: number
}

async function readPublished(redis: RedisConnection, signal: AbortSignal): Promise<Published> {
  const meta = await readMeta(redis, signal)
  if (meta === undefined) return { values: NO_VALUES, revision: 0 }
  const found: Record<Kind, [string, string][]> = { tenants: [], keys: [], templates: [] }
  for await (const fields of scanFields(redis, signal))
    for (const { kind, name, text } of fields) found[kind].push([name, text])
  const values = {
    tenants: PersistentMap.of(found.tenants),
    keys: PersistentMap.of(found.keys),
    templates: PersistentMap.of(found.templates),
  }
  return { values, revision: meta.revision, revisionId: meta.revisionId }
}

/** By account. */
function changedLimits(
  changes: readonly Change[],
  { snapshot, before }: { readonly snapshot: DirectorySnapshot; readonly before: Values },
): ReadonlyMap<string, Limits> {
  const changed = new Map<string, Limits>()
  for (const { kind, name } of changes) {
    // A name of kind `tenants` is a tenant id.
    const tenant = kind === 'tenants' ? snapshot.tenants.get(name as TenantId) : undefined
    if (tenant === undefined) continue
    // The canonical JSON of equal limits is the same text, wherever it is embedded.
    const isSame = before.tenants.get(name)?.includes(`"limits":${canonicalJson(tenant.limits)}`) === true
    if (!isSame) changed.set(tenant.account, tenant.limits)
  }
  return changed
}
