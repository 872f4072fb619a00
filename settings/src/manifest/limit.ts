const SECOND_MS = 1000
const KIB = 1024
const MIB = 1024 * KIB

/** Size of one manifest file, and of all documents of a folder. */
export const MANIFEST_FILE_BYTES_MAX = 16 * MIB

/** As many tenants as fit into the bytes of one manifest file, and no more empty documents than can be checked in seconds. */
export const MANIFEST_DOCUMENTS_MAX = 100_000

/** Before another try when a folder of manifests cannot be watched, or a change could not be published. */
export const MANIFEST_RETRY_MS = SECOND_MS

/**
 * How long a load waits for publish checks before it publishes without them: at the start, when no caller is served yet, and later, when a
 * suspended key must be out of force within a second.
 */
export const MANIFEST_CHECKS_FIRST_MS = 15 * SECOND_MS
export const MANIFEST_CHECKS_LATER_MS = 250
