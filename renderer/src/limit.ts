const KIB = 1024
const MIB = 1024 * KIB

/** Pages of a finished PDF. */
export const PDF_PAGES_MAX = 2000

/** Requests for assets that one document may make. Chromium requests each once, and once more in each frame. */
export const ASSET_REQUESTS_MAX = 1000

/** Bytes that one render may fetch in all, cached or not. Each byte is in memory several times on its way into a document. */
export const EGRESS_RENDER_BYTES_MAX = 32 * MIB

/** Distinct characters that are counted as missing in one document. A text in a script that no font has contains thousands. */
export const MISSING_GLYPHS_COUNTED_MAX = 1000

/**
 * Bytes of assets that one render thread caches, for its images and its fonts each: those of a few large templates, or of dozens of small
 * ones.
 */
export const THREAD_ASSET_CACHE_BYTES_MAX = 32 * MIB
