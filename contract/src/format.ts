/**
 * The format: one version for everything that processes of an installation store for each other. Records, manifests, events, deliveries
 * and settings state the format that they were written in. A process reads every format up to its own. It leaves newer ones to processes
 * that read them, and makes no dead letters.
 *
 * A field that older readers may ignore needs no new format. Everything else does: a field that they must know, and a value that they
 * refuse, such as a new engine. `docs/upgrades.md` says how to raise it.
 *
 * One form is made from another: a manifest from a record, an event from a manifest, a delivery from an event. Whoever writes an older
 * format than it read has to convert what it passes on, or to state the newer format. With one format, nobody has to yet.
 */

/** The newest format that this version reads and can write. */
export const FORMAT = 2

/** The format that it writes unless `PLATEN_FORMAT` says otherwise: the newest one that the version before reads, too. */
export const FORMAT_DEFAULT = 1

/**
 * The format of records and events of renders with `requestData: Stored`, whatever `PLATEN_FORMAT` says: a reader of format 1 would render
 * the wrong data and call no webhook. Nobody writes them unless a plan or tenant asks for it.
 */
export const FORMAT_OF_STORED = 2

/** A value is of a format that this version does not read. It is not damaged, and another process can read it. */
export class NewerFormat extends Error {
  override readonly name = 'NewerFormat'
  readonly format: number

  constructor(format: number) {
    super(`it is of format ${format}, and this version reads formats up to ${FORMAT}`)
    this.format = format
  }
}

/** Returns the format that a value states if it is newer than this version reads. Accepts anything, from any source. */
export function newerFormat(stated: unknown): number | undefined {
  const format = typeof stated === 'string' && /^\d{1,9}$/.test(stated) ? Number(stated) : stated
  return typeof format === 'number' && format > FORMAT ? format : undefined
}

/** Throws `NewerFormat` if a stored object is newer than this version reads. An object without a `version` is of format 1. */
export function requireReadable(stored: unknown): void {
  const stated = typeof stored === 'object' && stored !== null && 'version' in stored ? stored.version : undefined
  const newer = newerFormat(stated)
  if (newer !== undefined) throw new NewerFormat(newer)
}

/** Returns an object as it is stored in a format. Format 1 is not stated, as it was written before there was a second one. */
export function inFormat<Stored extends object>(stored: Stored, format: number): Stored {
  return format === 1 ? stored : { version: format, ...stored }
}
