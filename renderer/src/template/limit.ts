/** Limits of templates and their documents, each with its unit and the reason for its value. */

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000

/** Elements (nodes and texts) of one react_pdf tree. 3200 invoice rows of six cells are 40,000. */
export const ELEMENTS_MAX = 200_000

/** HTML after Liquid has filled it. */
export const HTML_BYTES_MAX = 20 * MIB

/** Time Liquid may take for one template. Below the default deadline, so that the error names a line. */
export const LIQUID_MS_MAX = 20 * SECOND_MS

/** Memory of one template evaluation in QuickJS, including its own megabyte: ten times what a document of ten thousand rows takes. */
export const SANDBOX_MEMORY_BYTES_MAX = 256 * MIB

/** Stack of one template evaluation in QuickJS. */
export const SANDBOX_STACK_BYTES_MAX = MIB

/**
 * Interrupts of a publish check, one about every 10,000 branches: about three seconds of plain computing, a hundred times what a large
 * document takes. A render has no such limit: its deadline ends its thread.
 */
export const SANDBOX_CHECK_INTERRUPTS_MAX = 100_000

/** Nesting of elements in one react_pdf tree; layout recurses over it. */
export const ELEMENT_DEPTH_MAX = 200

/** Pixels of one image. react-pdf unpacks a PNG with transparency, and a few kilobytes of zeros can be gigabytes. */
export const IMAGE_PIXELS_MAX = 25_000_000

/** Unpacked size of a font. The largest, Chinese and Japanese, have about 20 MB. A packed megabyte of zeros could be gigabytes. */
export const FONT_BYTES_MAX = 32 * MIB

/** Filled HTML that is checked for faults of styles and tags, in characters: 5000 rows of an invoice, in a tenth of a second. */
export const LINT_CHARS_MAX = MIB
