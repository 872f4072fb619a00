/** Limits of what is looked for in a layout. */

/** Places in a source of which one document is warned by the same code: enough to repair a template, few enough to read. */
export const PLACES_WARNED_MAX = 20

/** Characters of a text that a warning quotes. */
export const QUOTED_CHARS_MAX = 30

/**
 * Pairs of things on a page, and of letters in them, that are compared in one document. An ordinary page needs some ten for each line. Without this limit, thousands
 * of texts at the same place would take minutes.
 */
export const COMPARISONS_MAX = 2_000_000
