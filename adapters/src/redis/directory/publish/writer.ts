/** Knows the revisions of one publisher and of earlier ones, and writes the next one. */
import type { Ids } from '@platen/lib/ids.ts'
import type { RedisConnection } from '../../connect.ts'
import type { Script } from '../../script.ts'
import type { Change } from './difference.ts'
import { type KnownRevisions, openKnownRevisions } from './known-revisions.ts'
import { claim, type Published, type StoredState, write } from './write.ts'

interface WriterOptions {
  readonly redis: RedisConnection
  readonly ids: Ids
  readonly script: Script['run']
  readonly epoch: number
  readonly found: Published
  /** As in `PublisherOptions`. */
  readonly onLost: (revision: number) => void
  /** The time of the claim, in epoch milliseconds. */
  readonly now: number
}

/** Calls must not overlap. */
export interface Writer {
  readonly known: KnownRevisions
  /** The last published revision, as far as is known. */
  last(): Published
  /** The highest revision number that is known to be published or attempted. */
  highest(): number
  /** One above the highest number; the time of the claim if no revision is known. */
  nextRevision(): number
  /** Claims the right to write again, finds out whether the last attempt took effect, and returns the state in Redis. */
  reclaim(signal: AbortSignal): Promise<StoredState>
  /** Publishes under a new revision id. `changes` lead from the last revision to these values; absent = all values are written. */
  publish(next: NewRevision, signal: AbortSignal): Promise<void>
  /** Publishes the last revision again. Keeps its number unless Redis has a higher one: readers would take that for a lagging replica. */
  republish(again: { readonly stored: StoredState } & Pick<NewRevision, 'changes'>, signal: AbortSignal): Promise<void>
}

type NewRevision = Omit<Published, 'revisionId'> & { readonly changes?: readonly Change[] | undefined }

const REVISION_ID_BYTES = 16

export function openWriter({ redis, ids, script, epoch, found, onLost, now }: WriterOptions): Writer {
  const known = openKnownRevisions()
  let last = found
  // Not confirmed by Redis yet.
  let tried: Published | undefined
  let highest = found.revision
  const { revisionId: foundId, revision } = found
  if (foundId !== undefined) known.add({ revisionId: foundId, revision })
  const nextRevision = () => (highest === 0 ? now : highest + 1)
  const publish = async ({ changes, ...settings }: NewRevision, signal: AbortSignal) => {
    const next = { ...settings, revisionId: Buffer.from(ids.random(REVISION_ID_BYTES)).toString('hex') }
    highest = Math.max(highest, next.revision)
    tried = next
    // Known even if the response gets lost: a reader that reports it proves that it was published.
    known.add(next)
    const replaced = await write({ script, redis, epoch, last, next, changes }, signal)
    const isLost = last.revisionId !== undefined && replaced !== undefined && replaced !== last.revisionId
    if (isLost) onLost(next.revision)
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
