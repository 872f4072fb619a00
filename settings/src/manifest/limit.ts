/** Limits of manifest files, each with its unit and the reason for its value. */

const SECOND_MS = 1000
const KIB = 1024
const MIB = 1024 * KIB

/** Size of one manifest file, and of all documents of a folder. */
export const MANIFEST_FILE_BYTES_MAX = 16 * MIB

/** Documents in one manifest file: as many tenants as fit into its bytes, and no more empty ones than can be checked in seconds. */
export const MANIFEST_DOCUMENTS_MAX = 100_000

/** Values in one manifest document with its aliases expanded: far above any real one, and quick to walk. */
export const MANIFEST_NODES_MAX = 1_000_000

/** How often YAML aliases may multiply what they refer to: the default of `yaml`, which stops a billion laughs attack. */
export const MANIFEST_ALIASES_MAX = 100

/** How long a folder of manifests must stay unchanged before it is read. Editors and `git checkout` write in bursts. */
export const MANIFEST_DEBOUNCE_MS = 100

/** A folder that keeps changing is read anyway after this many such waits. */
export const MANIFEST_DEBOUNCES_MAX = 50

/** Wait before another try when a folder of manifests cannot be watched, or a change could not be published. */
export const MANIFEST_RETRY_MS = SECOND_MS

/**
 * How long loading a folder of manifests waits for publish checks before it publishes without them: at the start, when no caller is served
 * yet, and later, when a suspended key must be out of force within a second.
 */
export const MANIFEST_CHECKS_FIRST_MS = 15 * SECOND_MS
export const MANIFEST_CHECKS_LATER_MS = 250

/** Rotations of one tenant's webhook secret that are remembered, so that none is made twice: more than anyone goes back in a manifest. */
export const WEBHOOK_ROTATIONS_KEPT_MAX = 32

/** Files of webhook secrets that are read or created at once: the disk flushes several as quickly as one. */
export const WEBHOOK_SECRET_FILES_AT_ONCE = 32
