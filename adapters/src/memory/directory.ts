/** The settings of one process. The embedded service publishes its compiled manifests into it. */
import type {
  Directory,
  DirectoryPublisher,
  DirectorySettings,
  DirectorySnapshot,
} from '@platen/contract/port/directory.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'

interface MemoryDirectory extends Directory, DirectoryPublisher {}

/** Begins at revision 0. `publish` throws `RangeError` for a revision that is not newer. */
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
    revision: () => snapshot.revision,
    nextRevision: () => snapshot.revision + 1,
    isPublished: (settings) => snapshot.revision > 0 && canonicalText(settings) === canonicalText(snapshot),
    repair: async () => false,
  }
}

function canonicalText({ tenants, keys, templates }: DirectorySettings): string {
  const listed = [...templates.values()].flatMap((codes) => [...codes.values()])
  return canonicalJson([[...tenants.values()], [...keys.values()], listed])
}
