/** The warnings of one document: one for each place in the source, however often it is drawn there, and few of each code. Pure. */
import type { Warning, WarningCode } from '@platen/contract/domain/warning.ts'
import type { ElementPosition, Program } from '../../../template/tsx/transpile.ts'

/** Places in a source of which one document is warned by the same code: enough to repair a template, few enough to read. */
const PLACES_WARNED_MAX = 20

/** Where a warning comes from. */
export interface Spot {
  /** The page of the PDF, from 1. */
  readonly page: number
  /** The element, or the nearest one around it whose place is known. */
  readonly source?: ElementPosition | undefined
}

export interface WarningList {
  /** Adds a warning. `message` is called for the first one of a place. */
  add(code: WarningCode, spot: Spot, message: () => string): void
  /** The warnings in the order of their first ones. */
  readonly warnings: () => readonly Warning[]
}

/** `find` finds the position of an element in the source. */
export function openWarningList(find?: Program['find']): WarningList {
  const places = new Map<WarningCode, Map<string, Entry>>()
  const left = new Set<WarningCode>()
  return {
    add(code, spot, message) {
      const known = places.get(code) ?? new Map<string, Entry>()
      places.set(code, known)
      const { page, source } = spot
      const key = source === undefined ? `page ${page}` : `${source.line} ${source.element}`
      const entry = known.get(key)
      if (entry !== undefined) entry.count += 1
      else if (known.size < PLACES_WARNED_MAX) known.set(key, { spot, message: message(), count: 1 })
      else left.add(code)
    },
    warnings: () =>
      [...places].flatMap(([code, known]) =>
        [...known.values()].map(({ spot, message, count }, at) => {
          const more = count > 1 ? `, and ${count - 1} more of this place` : ''
          const others = left.has(code) && at === PLACES_WARNED_MAX - 1 ? '; further places are not listed' : ''
          return { code, place: placeOf(spot, find), message: `${message}${more}${others}` }
        }),
      ),
  }
}

interface Entry {
  readonly spot: Spot
  readonly message: string
  count: number
}

/** The position in the source if it is known, else the page. */
export function placeOf({ page, source }: Spot, find?: Program['find']): string {
  return source === undefined || find === undefined ? `page ${page}` : find(source)
}

/** What of a document has no effect, mostly styles. A document is translated several times, and each is one warning. */
interface IgnoredStyles {
  /** Called for each element that has such a style. The position is absent if the source has it nowhere. */
  readonly add: (source: ElementPosition | undefined, message: string, code?: WarningCode) => void
  readonly warnings: () => readonly Warning[]
}

/** `find` finds the position of an element in the source. */
export function openIgnoredStyles(find: Program['find']): IgnoredStyles {
  const found = new Map<string, Omit<Warning, 'place'> & { readonly source: ElementPosition | undefined }>()
  return {
    add(source, message, code = 'style_ignored') {
      const key = `${source?.line} ${message}`
      if (found.size < PLACES_WARNED_MAX && !found.has(key)) found.set(key, { source, message, code })
    },
    warnings: () =>
      Array.from(found.values(), ({ source, message, code }) => ({
        code,
        ...(source !== undefined && { place: find(source) }),
        message,
      })),
  }
}
