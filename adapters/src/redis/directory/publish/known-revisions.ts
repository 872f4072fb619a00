/**
 * Tells which revisions the readers of a directory enforce, by revision ids that the publisher found or created. The number of a revision
 * is no proof: before Redis was emptied, another publisher may have used it for other settings.
 */

/** Revision ids that a publisher remembers, so that it recognizes what readers enforce. Those of a minute at 20 changes per second. */
const DIRECTORY_REVISIONS_KNOWN_MAX = 1200

interface Revision {
  readonly revisionId: string
  readonly revision: number
}

export interface KnownRevisions {
  add(revision: Revision): void
  /** Forgets all but the last, when the content that readers loaded with the others is uncertain. */
  keepLast(): void
  /** Undefined if the id is unknown or too old. */
  revisionOf(mark: string): number | undefined
}

export interface Enforcement {
  /** The number of readers that reported within the last ten seconds. */
  readonly all: number
  /** How many of them do not enforce the last published revision. */
  readonly behind: number
  /** All readers enforce this revision or a later one. The last one if there is no reader; 0 if a reader enforces an unknown one. */
  readonly revision: number
  /** Have reports been collected long enough that each reader must have reported? False for ten seconds after Redis was emptied. */
  readonly isCertain: boolean
}

export function openKnownRevisions(): KnownRevisions {
  let revisions: readonly Revision[] = []
  return {
    add({ revisionId, revision }) {
      // Copied: the caller's object may hold all settings, which must not stay in memory.
      revisions = [...revisions, { revisionId, revision }].slice(-DIRECTORY_REVISIONS_KNOWN_MAX)
    },
    keepLast() {
      revisions = revisions.slice(-1)
    },
    revisionOf: (mark) => revisions.findLast(({ revisionId }) => revisionId === mark)?.revision,
  }
}

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
