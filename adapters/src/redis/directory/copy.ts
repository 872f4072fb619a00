/** The copy of the settings that a process holds, and how it becomes that of the next revision: step by step, or loaded anew. */
import { DIRECTORY_DOUBT_MS, DIRECTORY_LOADS_MAX } from '@platen/contract/directory-limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { RedisConnection } from '../connect.ts'
import { EMPTY, openDraft } from './draft.ts'
import { type Meta, readMeta, readSteps, SCHEMA, scanFields } from './layout.ts'
import { fieldsOf, type Step } from './step.ts'
import { type Kind, valueReader } from './value.ts'

export interface Copy {
  /** Nobody at revision 0 as long as nothing was loaded. */
  snapshot(): DirectorySnapshot
  /** Which revision it is; absent as long as nothing was loaded. */
  held(): Pick<Meta, 'mark' | 'revision' | 'entry'> | undefined
  /** Values met that were not of their shape. */
  damaged(): number
  /** Takes the steps that follow on what is held, one after the other. */
  take(steps: readonly Step[]): void
  /** Loads what is in force where that is not what is held. Answers what is in the way of it. */
  update(meta: Meta | undefined, signal: AbortSignal): Promise<string | undefined>
}

export interface CopyOptions {
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly log: Log
}

/** A copy of nothing. */
export function openCopy({ redis, clock, log }: CopyOptions): Copy {
  const read = valueReader()
  const damage = openDamage(log)
  let snapshot = EMPTY
  let held: Pick<Meta, 'mark' | 'revision' | 'entry'> | undefined
  let doubtedAt: number | undefined

  const draftOf = (base: DirectorySnapshot) =>
    openDraft({ base, lastGood: snapshot, read, onDamage: (kind, name) => damage.tell(kind, name) })
  /** Answers false where all was replaced meanwhile. */
  const load = async (before: Meta, signal: AbortSignal): Promise<boolean> => {
    const draft = draftOf(EMPTY)
    for await (const fields of scanFields(redis, signal))
      for (const { kind, name, text } of fields) draft.set(kind, name, text)
    // What was changed while it was read came as it was or as it is: the changes themselves make it one revision.
    let last: Pick<Meta, 'mark' | 'revision' | 'entry'> = before
    for (const step of await readSteps(redis, before.entry, signal)) {
      if (step.after !== last.mark || step.changes === undefined) return false
      for (const field of fieldsOf(step.changes)) draft.set(...field)
      last = step
    }
    const now = await readMeta(redis, signal)
    if (now?.mark !== last.mark) return false
    snapshot = draft.finish(last.revision)
    held = { mark: last.mark, revision: last.revision, entry: last.entry }
    return true
  }
  /** A lower revision is that of a replica that lagged, unless it stays. */
  const isDoubtful = ({ revision }: Meta): boolean => {
    if (held === undefined || revision >= held.revision) {
      doubtedAt = undefined
      return false
    }
    doubtedAt ??= clock.monotonic()
    return clock.monotonic() - doubtedAt < DIRECTORY_DOUBT_MS
  }
  return {
    snapshot: () => snapshot,
    held: () => held,
    damaged: damage.count,
    take(steps) {
      for (const { changes, ...step } of steps) {
        if (held === undefined || step.after !== held.mark || changes === undefined) continue
        const draft = draftOf(snapshot)
        for (const field of fieldsOf(changes)) draft.set(...field)
        snapshot = draft.finish(step.revision)
        held = { mark: step.mark, revision: step.revision, entry: step.entry }
      }
    },
    async update(meta, signal) {
      for (let loads = 0, now = meta; loads < DIRECTORY_LOADS_MAX; loads++) {
        if (now === undefined) return 'nothing is published'
        if (now.mark === held?.mark) return undefined
        if (now.schema !== SCHEMA)
          return `what is published is of version ${now.schema}, and this process reads ${SCHEMA}`
        if (isDoubtful(now)) return `revision ${now.revision} is published, and ${held?.revision} was known`
        if (await load(now, signal)) return undefined
        now = await readMeta(redis, signal)
      }
      return 'what is published changes faster than it is read'
    },
  }
}

/** Names of damaged values that are remembered, each being told once. */
const TOLD_MAX = 1000

function openDamage(log: Log) {
  const told = new Set<string>()
  let count = 0
  return {
    count: () => count,
    tell(kind: Kind, name: string): void {
      count++
      const place = `${kind} ${name}`
      if (told.has(place) || told.size === TOLD_MAX) return
      told.add(place)
      // The name of a key is its hash.
      log.error({ kind, name }, 'directory value damaged, last good one kept')
    },
  }
}
