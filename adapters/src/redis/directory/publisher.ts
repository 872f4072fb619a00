/**
 * The writing side of the directory in Redis: so that Redis never stands still for long, and readers see each revision whole or not at
 * all. Of several publishers the one with the highest epoch may write, and the others are told so. Calls at once are done one after
 * the other.
 */

import { canonicalJson } from '@platen/contract/canonical-json.ts'
import { DIRECTORY_REPORTED_MS } from '@platen/contract/directory-limit.ts'
import type { DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Limits, TenantId } from '@platen/contract/tenant.ts'
import type { RedisConnection } from '../connect.ts'
import { writeLimits } from '../limiter-settings.ts'
import type { Script } from '../script.ts'
import { directoryScript, readMeta, SCHEMA, scanFields } from './layout.ts'
import { type Change, changesBetween, type Difference, differencesIn } from './publish/difference.ts'
import { type Enforcement, enforcementOf, type Lineage, openLineage } from './publish/lineage.ts'
import { claim, fencedBy, type Published, type Standing, write } from './publish/write.ts'
import { openTurns } from './turn.ts'
import { type Values, valueWriter } from './value.ts'

export interface PublisherOptions {
  readonly redis: RedisConnection
  readonly ids: Ids
  /** Refused when a higher one has written; absent = the next, which ends whoever published before. */
  readonly epoch?: number
}

export interface RedisPublisher extends DirectoryPublisher {
  readonly epoch: number
  /** Of what is published, be it by somebody else before; 0 = nothing. */
  revision(): number
  /**
   * The number for what is published next: above all that are known. Where none is, it is the time in milliseconds, and so above
   * whatever was published before Redis was emptied, which readers may still hold.
   */
  nextRevision(): number
  /** What of a snapshot is not published as it is. */
  differences(snapshot: DirectorySnapshot): readonly Difference[]
  /** Publishes once more what was published last, where Redis holds it no longer. Answers whether it had to. Throws as `publish` does. */
  repair(signal: AbortSignal): Promise<boolean>
  /** How far what was published has come. Throws `Fenced`, or `Unavailable`. */
  enforced(signal: AbortSignal): Promise<Enforcement>
  /** How many processes there are that have said which revision they enforce, and how many of them enforce the last. Throws as `enforced` does. */
  readers(signal: AbortSignal): Promise<{ readonly all: number; readonly enforcing: number }>
}

/**
 * Takes the right to publish. `publish` throws `RangeError` for a revision that is not above all that were published or tried,
 * `Fenced`, or `Unavailable`: then it is not known whether the revision counts, and the next `publish` or `repair` finds out.
 */
export async function openRedisPublisher(
  { redis, ids, epoch: asked }: PublisherOptions,
  signal: AbortSignal,
): Promise<RedisPublisher> {
  const script = directoryScript(redis)
  const { epoch, now } = await claim(script, asked, signal)
  // Nobody else writes from here on, so what is read in pieces is one revision.
  const writer = openWriter({ redis, ids, script, epoch, found: await readPublished(redis, signal) })
  const inTurn = openTurns()
  const valuesOf = valueWriter()
  const nextRevision = () => (writer.highest() === 0 ? now : writer.highest() + 1)
  /** Under its own number, unless a higher one stands there: readers would take it for one that has lagged. */
  const putAgain = ({ revision: standing }: Standing, putSignal: AbortSignal, changes?: readonly Change[]) => {
    const { values, revision } = writer.last()
    return writer.put({ values, revision: standing > revision ? nextRevision() : revision, changes }, putSignal)
  }
  const enforced = async (enforcedSignal: AbortSignal) => {
    const request = { operation: 'readers', reportedMs: DIRECTORY_REPORTED_MS }
    // The script answers with what readers have reported through it.
    const { reports, epoch: theirs, knownMs } = (await script({ keys: [], request }, enforcedSignal)) as ReadersAnswer
    if (theirs > epoch) throw fencedBy(theirs, epoch)
    const marks = Object.values(reports).map(({ mark }) => mark)
    const { lineage } = writer
    return {
      ...enforcementOf(marks, { lineage, last: writer.last().revision }),
      isCertain: knownMs >= DIRECTORY_REPORTED_MS,
    }
  }
  return {
    epoch,
    revision: () => writer.last().revision,
    nextRevision,
    differences: (snapshot) => differencesIn(changesBetween(writer.last().values, valuesOf(snapshot))),
    publish: (snapshot, publishSignal) =>
      inTurn(async (turnSignal) => {
        await writer.hold(turnSignal)
        const { revision } = snapshot
        if (!(revision > writer.highest()))
          throw new RangeError(`revision ${revision} is not newer than ${writer.highest()}`)
        const { values: before } = writer.last()
        const values = valuesOf(snapshot)
        const changes = changesBetween(before, values)
        await writeLimits(redis, { revision, limits: limitsIn(changes, { snapshot, before }) }, turnSignal)
        await writer.put({ values, revision, changes }, turnSignal)
      }, publishSignal),
    repair: (repairSignal) =>
      inTurn(async (turnSignal) => {
        const standing = await writer.hold(turnSignal)
        const { mark } = writer.last()
        if (mark === undefined || standing.mark === mark) return false
        await putAgain(standing, turnSignal)
        return true
      }, repairSignal),
    enforced,
    async readers(readersSignal) {
      const { all, behind } = await enforced(readersSignal)
      return { all, enforcing: all - behind }
    },
  }
}

interface ReadersAnswer {
  /** Lua has one empty table for lists and objects. */
  readonly reports: Readonly<Record<string, { readonly mark: string }>>
  readonly epoch: number
  /** For how long account of them has been kept. */
  readonly knownMs: number
}

const MARK_BYTES = 16

interface WriterOptions extends PublisherOptions {
  readonly script: Script['run']
  readonly epoch: number
  readonly found: Published
}

/** What one publisher knows of the revisions there are. Each call begins when the one before is done. */
interface Writer {
  readonly lineage: Lineage
  /** What is published, as far as is known. */
  last(): Published
  /** The highest number that is known to have been published, or tried. */
  highest(): number
  /** Takes the right to write once more, finds out whether what was tried last counts, and tells what stands in Redis. */
  hold(signal: AbortSignal): Promise<Standing>
  /** Publishes under a mark of its own. `changes` is what makes what stands there these values; absent = all is written. */
  put(next: Published & Pick<Parameters<typeof write>[0], 'changes'>, signal: AbortSignal): Promise<void>
}

function openWriter({ redis, ids, script, epoch, found }: WriterOptions): Writer {
  const lineage = openLineage()
  let last = found
  // What Redis has not confirmed.
  let tried: Published | undefined
  let highest = found.revision
  const { mark: foundMark, revision } = found
  if (foundMark !== undefined) lineage.add({ mark: foundMark, revision })
  return {
    lineage,
    last: () => last,
    highest: () => highest,
    async hold(signal) {
      const standing = await claim(script, epoch, signal)
      if (tried !== undefined && tried.mark === standing.mark) last = tried
      tried = undefined
      highest = Math.max(highest, standing.revision)
      return standing
    },
    async put({ changes, ...settings }, signal) {
      const next = { ...settings, mark: Buffer.from(ids.random(MARK_BYTES)).toString('hex') }
      highest = Math.max(highest, next.revision)
      tried = next
      // A reader that has it proves that it counts, whatever becomes of the answer.
      lineage.add(next)
      await write({ script, redis, epoch, last, next, changes }, signal)
      last = next
    },
  }
}

async function readPublished(redis: RedisConnection, signal: AbortSignal): Promise<Published> {
  const values = {
    tenants: new Map<string, string>(),
    keys: new Map<string, string>(),
    templates: new Map<string, string>(),
  }
  const meta = await readMeta(redis, signal)
  if (meta === undefined) return { values, revision: 0 }
  // What another version wrote is replaced as a whole.
  if (meta.schema !== SCHEMA) return { values, revision: meta.revision }
  for await (const fields of scanFields(redis, signal))
    for (const { kind, name, text } of fields) values[kind].set(name, text)
  return { values, revision: meta.revision, mark: meta.mark }
}

/** The limits, by account, that are not those published before. */
function limitsIn(
  changes: readonly Change[],
  { snapshot, before }: { readonly snapshot: DirectorySnapshot; readonly before: Values },
): ReadonlyMap<string, Limits> {
  const changed = new Map<string, Limits>()
  for (const { kind, name } of changes) {
    // The name is a tenant's id if it is the name of a tenant.
    const tenant = kind === 'tenants' ? snapshot.tenants.get(name as TenantId) : undefined
    if (tenant === undefined) continue
    // Canonical JSON of equal limits is the same text, wherever it stands.
    const isSame = before.tenants.get(name)?.includes(`"limits":${canonicalJson(tenant.limits)}`) === true
    if (!isSame) changed.set(tenant.incarnation, tenant.limits)
  }
  return changed
}
