/** What one publisher knows of the revisions there are, its own and those of others, and how it makes the next. */
import type { Ids } from '@platen/contract/port/ids.ts'
import type { RedisConnection } from '../../connect.ts'
import type { Script } from '../../script.ts'
import type { Change } from './difference.ts'
import { type Lineage, openLineage } from './lineage.ts'
import { claim, type Published, type Standing, write } from './write.ts'

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
  readonly lineage: Lineage
  /** What is published, as far as is known. */
  last(): Published
  /** The highest number that is known to have been published, or tried. */
  highest(): number
  /** One above the highest; the time where none is known. */
  nextRevision(): number
  /** Takes the right to write once more, finds out whether what was tried last counts, and tells what stands in Redis. */
  hold(signal: AbortSignal): Promise<Standing>
  /** Publishes under a mark of its own. `changes` is what makes what stands there these values; absent = all is written. */
  put(next: Next, signal: AbortSignal): Promise<void>
  /** Publishes the last once more. It keeps its number, unless a higher one stands there: readers would take it for one that has lagged. */
  putAgain(again: { readonly standing: Standing } & Pick<Next, 'changes'>, signal: AbortSignal): Promise<void>
}

type Next = Omit<Published, 'mark'> & { readonly changes?: readonly Change[] | undefined }

const MARK_BYTES = 16

export function openWriter({ redis, ids, script, epoch, found, now }: WriterOptions): Writer {
  const lineage = openLineage()
  let last = found
  // What Redis has not confirmed.
  let tried: Published | undefined
  let highest = found.revision
  const { mark: foundMark, revision } = found
  if (foundMark !== undefined) lineage.add({ mark: foundMark, revision })
  const nextRevision = () => (highest === 0 ? now : highest + 1)
  const put = async ({ changes, ...settings }: Next, signal: AbortSignal) => {
    const next = { ...settings, mark: Buffer.from(ids.random(MARK_BYTES)).toString('hex') }
    highest = Math.max(highest, next.revision)
    tried = next
    // A reader that has it proves that it counts, whatever becomes of the answer.
    lineage.add(next)
    await write({ script, redis, epoch, last, next, changes }, signal)
    last = next
  }
  return {
    lineage,
    last: () => last,
    highest: () => highest,
    nextRevision,
    async hold(signal) {
      const standing = await claim(script, epoch, signal)
      if (tried !== undefined && tried.mark === standing.mark) last = tried
      tried = undefined
      highest = Math.max(highest, standing.revision)
      return standing
    },
    put,
    putAgain({ standing, changes }, signal) {
      const { values, revision } = last
      return put({ values, revision: standing.revision > revision ? nextRevision() : revision, changes }, signal)
    },
  }
}
