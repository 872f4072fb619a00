/** What one publisher knows of the revisions there are, its own and those of others, and how it makes the next. */
import type { Ids } from '@platen/contract/port/ids.ts'
import type { RedisConnection } from '../../connect.ts'
import type { Script } from '../../script.ts'
import type { Change } from './difference.ts'
import { type KnownRevisions, openKnownRevisions } from './known-revisions.ts'
import { claim, type Published, type StoredState, write } from './write.ts'

export interface WriterOptions {
  readonly redis: RedisConnection
  readonly ids: Ids
  readonly script: Script['run']
  readonly epoch: number
  readonly found: Published
  /** When it was found, in epoch milliseconds. */
  readonly now: number
}

/** Each call begins when the one before is done. */
export interface Writer {
  readonly known: KnownRevisions
  /** What is published, as far as is known. */
  last(): Published
  /** The highest number that is known to have been published, or tried. */
  highest(): number
  /** One above the highest; the time where none is known. */
  nextRevision(): number
  /** Takes the right to write once more, finds out whether what was tried last counts, and tells what stands in Redis. */
  reclaim(signal: AbortSignal): Promise<StoredState>
  /** Publishes under a mark of its own. `changes` is what makes what stands there these values; absent = all is written. */
  publish(next: NewRevision, signal: AbortSignal): Promise<void>
  /** Publishes the last once more. It keeps its number, unless a higher one stands there: readers would take it for one that has lagged. */
  republish(again: { readonly stored: StoredState } & Pick<NewRevision, 'changes'>, signal: AbortSignal): Promise<void>
}

type NewRevision = Omit<Published, 'revisionId'> & { readonly changes?: readonly Change[] | undefined }

const REVISION_ID_BYTES = 16

export function openWriter({ redis, ids, script, epoch, found, now }: WriterOptions): Writer {
  const known = openKnownRevisions()
  let last = found
  // What Redis has not confirmed.
  let tried: Published | undefined
  let highest = found.revision
  const { revisionId: foundId, revision } = found
  if (foundId !== undefined) known.add({ revisionId: foundId, revision })
  const nextRevision = () => (highest === 0 ? now : highest + 1)
  const publish = async ({ changes, ...settings }: NewRevision, signal: AbortSignal) => {
    const next = { ...settings, revisionId: Buffer.from(ids.random(REVISION_ID_BYTES)).toString('hex') }
    highest = Math.max(highest, next.revision)
    tried = next
    // A reader that has it proves that it counts, whatever becomes of the answer.
    known.add(next)
    await write({ script, redis, epoch, last, next, changes }, signal)
    last = next
  }
  return {
    known,
    last: () => last,
    highest: () => highest,
    nextRevision,
    async reclaim(signal) {
      const stored = await claim(script, epoch, signal)
      if (tried !== undefined && tried.revisionId === stored.mark) last = tried
      tried = undefined
      highest = Math.max(highest, stored.revision)
      return stored
    },
    publish,
    republish({ stored, changes }, signal) {
      const { values, revision } = last
      return publish({ values, revision: stored.revision > revision ? nextRevision() : revision, changes }, signal)
    },
  }
}
