const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000

/**
 * Memory of the process of one page: the document, its layout, its images, and everything its scripts fill. Within it Chromium prints a
 * document of the most pages allowed, all text, or a table of 12,000 rows.
 */
export const PAGE_MEMORY_BYTES_MAX = 3072 * MIB

/** Memory above which a browser is replaced, in MiB: for the browser itself, plus for each page. A new page has 20. */
export const BROWSER_KEPT_MIB_MAX = 512
export const PAGE_KEPT_MIB_MAX = 128

/**
 * How long a browser may be without a document before it is ended. It takes 120 MiB, and the first document afterwards waits for another to
 * start.
 */
export const BROWSER_IDLE_MS_MAX = 180 * SECOND_MS

/** How long a browser may be silent and idle after a ping. It needs a millisecond, some seconds on an overloaded machine. */
export const BROWSER_PING_MS_MAX = 5 * SECOND_MS

/**
 * Dialogs (`alert` and the like) of one document that are answered. An endless loop of them would keep this process as busy as the page.
 */
export const PAGE_DIALOGS_MAX = 20

/** Characters of each metadata text of a PDF that comes from a document. */
export const METADATA_CHARS_MAX = 1000

/** Findings of one document for each kind of warning. After these are mended, the next ones show. */
export const FINDINGS_MAX = 10

/** Elements of one document that scripts check one by one: a table of some thousand rows. */
export const ELEMENTS_LOOKED_AT_MAX = 50_000

/** Characters of an address, a class or a text that a warning quotes. */
export const QUOTE_CHARS_MAX = 200
