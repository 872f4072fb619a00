/**
 * What the readers of a directory enforce, as its publisher can tell: by the marks that it found, or made itself. The number of a
 * revision proves nothing, as another publisher may have given it to other settings before Redis was emptied.
 */
import { DIRECTORY_LINEAGE_MAX } from '@platen/contract/directory-limit.ts'

export interface Revision {
  readonly mark: string
  readonly revision: number
}

/** The revisions of one publisher. */
export interface Lineage {
  add(revision: Revision): void
  /** Forgets all but the last, where it is not certain any more what readers took with the others. */
  keepLast(): void
  /** The number of the revision with that mark; undefined where it is none of these, or too long ago. */
  revisionOf(mark: string): number | undefined
}

export interface Enforcement {
  /** How many readers have said within the last ten seconds what they enforce. */
  readonly all: number
  /** How many of them do not enforce what was published last. */
  readonly behind: number
  /** All of them enforce this revision or a later one: the last where there is no reader, 0 where one enforces none that is known. */
  readonly revision: number
  /** Has every reader had the time to say so since Redis began to keep account of them? Not within ten seconds after it was emptied. */
  readonly isCertain: boolean
}

/** Knows none yet. */
export function openLineage(): Lineage {
  const revisions = new Map<string, number>()
  return {
    add({ mark, revision }) {
      revisions.set(mark, revision)
      const [oldest] = revisions.keys()
      if (oldest !== undefined && revisions.size > DIRECTORY_LINEAGE_MAX) revisions.delete(oldest)
    },
    keepLast() {
      for (const mark of [...revisions.keys()].slice(0, -1)) revisions.delete(mark)
    },
    revisionOf: (mark) => revisions.get(mark),
  }
}

/** How far readers with these marks have come towards the last revision. */
export function enforcementOf(
  marks: readonly string[],
  { lineage, last }: { readonly lineage: Lineage; readonly last: number },
): Omit<Enforcement, 'isCertain'> {
  const revisions = marks.map((mark) => lineage.revisionOf(mark))
  return {
    all: marks.length,
    behind: revisions.filter((revision) => revision === undefined || revision < last).length,
    revision: revisions.reduce<number>((lowest, revision = 0) => Math.min(lowest, revision), last),
  }
}
