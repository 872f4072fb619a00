/** A process's copy of the settings. It follows the next revision by deltas, or loads everything. */

import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import type { RedisConnection } from '../connect.ts'
import { DIRECTORY_LOADS_MAX } from '../limit.ts'
import { type Delta, fieldsOf } from './delta.ts'
import { type Meta, readDeltas, readMeta, scanFields, unreadable } from './layout.ts'
import { EMPTY, openSnapshotBuilder } from './snapshot-builder.ts'
import { type Kind, valueReader } from './value.ts'

const SECOND_MS = 1000

/**
 * How long a revision lower than the one in force must persist to be believed. By then a watching publisher has repaired what a lagging
 * replica lost.
 */
export const DIRECTORY_REGRESSION_MS = 15 * SECOND_MS

export interface DirectoryCopy {
  /** Empty and at revision 0 before the first load. */
  snapshot(): DirectorySnapshot
  /** Undefined before the first load. */
  revision(): Pick<Meta, 'revisionId' | 'revision' | 'entry'> | undefined
  damaged(): number
  /** Applies, in order, each delta that is based on the current revision. */
  apply(deltas: readonly Delta[]): void
  /** Loads the published revision if the copy differs from it. Returns the reason if that is not possible. */
  update(meta: Meta | undefined, signal: AbortSignal): Promise<string | undefined>
}

interface CopyOptions {
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly log: Log
}

export function openCopy({ redis, clock, log }: CopyOptions): DirectoryCopy {
  const read = valueReader()
  const damage = openDamage(log)
  let snapshot = EMPTY
  let held: Pick<Meta, 'revisionId' | 'revision' | 'entry'> | undefined
  let regressedAt: number | undefined

  const builderOf = (base: DirectorySnapshot) =>
    openSnapshotBuilder({ base, lastGood: snapshot, read, onDamage: (kind, name) => damage.report(kind, name) })
  /** Returns false if all settings were replaced meanwhile. */
  const load = async (before: Meta, signal: AbortSignal): Promise<boolean> => {
    const builder = builderOf(EMPTY)
    for await (const fields of scanFields(redis, signal))
      for (const { kind, name, text } of fields) builder.set(kind, name, text)
    // Values changed during the scan were read in the old or the new version. The deltas make them one revision.
    let last: Pick<Meta, 'revisionId' | 'revision' | 'entry'> = before
    for (const delta of await readDeltas(redis, before.entry, signal)) {
      if (delta.base !== last.revisionId || delta.changes === undefined) return false
      for (const field of fieldsOf(delta.changes)) builder.set(...field)
      last = delta
    }
    const now = await readMeta(redis, signal)
    if (now?.revisionId !== last.revisionId) return false
    snapshot = builder.build(last.revision)
    held = { revisionId: last.revisionId, revision: last.revision, entry: last.entry }
    return true
  }
  /** A lower revision comes from a lagging replica, unless it persists. */
  const isRegression = ({ revision }: Meta): boolean => {
    if (held === undefined || revision >= held.revision) {
      regressedAt = undefined
      return false
    }
    regressedAt ??= clock.monotonic()
    return clock.monotonic() - regressedAt < DIRECTORY_REGRESSION_MS
  }
  return {
    snapshot: () => snapshot,
    revision: () => held,
    damaged: damage.count,
    apply(deltas) {
      for (const { changes, ...delta } of deltas) {
        if (held === undefined || delta.base !== held.revisionId || changes === undefined) continue
        const builder = builderOf(snapshot)
        for (const field of fieldsOf(changes)) builder.set(...field)
        snapshot = builder.build(delta.revision)
        held = { revisionId: delta.revisionId, revision: delta.revision, entry: delta.entry }
      }
    },
    async update(meta, signal) {
      for (let loads = 0, now = meta; loads < DIRECTORY_LOADS_MAX; loads++) {
        if (now === undefined) return 'nothing is published'
        if (now.revisionId === held?.revisionId) return undefined
        const why = unreadable(now)
        if (why !== undefined) return why
        if (isRegression(now))
          return `revision ${now.revision} is published, but this process already knows ${held?.revision}`
        if (await load(now, signal)) return undefined
        now = await readMeta(redis, signal)
      }
      return 'the published settings change faster than they can be read'
    },
  }
}

/** Damaged values that are remembered. Each is logged once. */
const REPORTED_MAX = 1000

function openDamage(log: Log) {
  const reported = new Set<string>()
  let count = 0
  return {
    count: () => count,
    report(kind: Kind, name: string): void {
      count++
      const value = `${kind} ${name}`
      if (reported.has(value) || reported.size === REPORTED_MAX) return
      reported.add(value)
      // The name of an API key is its hash, so it is no secret.
      log.error({ kind, name }, 'directory value damaged, last good one kept')
    },
  }
}
