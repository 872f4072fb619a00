import type { DirectoryPublisher, DirectorySettings } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

/**
 * Publishes compiled settings as the next revision, unless they are published already. Resolves with their revision. Throws as the
 * publisher does, and `Unavailable` if another process has published without the right to do so; the next call then succeeds.
 */
export async function publishSettings(
  publisher: DirectoryPublisher,
  settings: DirectorySettings,
  signal: AbortSignal,
): Promise<number> {
  if (publisher.isPublished(settings)) {
    // An attempt whose answer was lost may have taken effect, and Redis may have lost what it had.
    await publisher.repair(signal)
    if (publisher.isPublished(settings)) return publisher.revision()
  }
  const revision = publisher.nextRevision()
  try {
    await publisher.publish({ ...settings, revision }, signal)
    return revision
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    await publisher.repair(signal)
    throw new Unavailable('Redis holds a revision that this process did not publish', { cause })
  }
}
