/**
 * What the readers of a directory enforce, as its publisher can tell: by the marks that it found, or made itself. The number of a
 * revision proves nothing, as another publisher may have given it to other settings before Redis was emptied.
 */
import { DIRECTORY_REVISIONS_KNOWN_MAX } from '@platen/contract/directory-limit.ts'

export interface Revision {
  readonly revisionId: string
  readonly revision: number
}

/** The revisions of one publisher. */
export interface KnownRevisions {
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
export function openKnownRevisions(): KnownRevisions {
  const revisions = new Map<string, number>()
  return {
    add({ revisionId, revision }) {
      revisions.set(revisionId, revision)
      const [oldest] = revisions.keys()
      if (oldest !== undefined && revisions.size > DIRECTORY_REVISIONS_KNOWN_MAX) revisions.delete(oldest)
    },
    keepLast() {
      for (const mark of [...revisions.keys()].slice(0, -1)) revisions.delete(mark)
    },
    revisionOf: (mark) => revisions.get(mark),
  }
}

/** How far readers with these marks have come towards the last revision. */
export function enforcementOf(
  revisionIds: readonly string[],
  { known, last }: { readonly known: KnownRevisions; readonly last: number },
): Omit<Enforcement, 'isCertain'> {
  const revisions = revisionIds.map((mark) => known.revisionOf(mark))
  return {
    all: revisionIds.length,
    behind: revisions.filter((revision) => revision === undefined || revision < last).length,
    revision: revisions.reduce<number>((lowest, revision = 0) => Math.min(lowest, revision), last),
  }
}
