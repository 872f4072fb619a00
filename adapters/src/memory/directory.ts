/** The settings of one process. The embedded service publishes its compiled manifests into it. */
import type { Directory, DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'

interface MemoryDirectory extends Directory, DirectoryPublisher {}

/** Makes an empty directory, at revision 0. `publish` throws `RangeError` for a revision that is not newer. */
export function memoryDirectory(): MemoryDirectory {
  let snapshot: DirectorySnapshot = { revision: 0, tenants: new Map(), keys: new Map(), templates: new Map() }
  return {
    current: () => snapshot,
    async publish(next, signal) {
      signal.throwIfAborted()
      if (!(next.revision > snapshot.revision))
        throw new RangeError(`revision ${next.revision} is not newer than ${snapshot.revision}`)
      snapshot = next
    },
  }
}
