/** The warnings of one document: one for each place in the source, however often it is drawn, and few of each code. Pure. */
import type { Warning, WarningCode } from '@platen/contract/domain/warning.ts'
import type { ElementPosition, Program } from '../../../template/tsx/transpile.ts'

/** Places per document and code: enough to repair a template, few enough to read. */
const PLACES_WARNED_MAX = 20

export interface Spot {
  /** The page of the PDF, from 1. */
  readonly page: number
  /** The element, or the nearest one around it whose position is known. */
  readonly source?: ElementPosition | undefined
}

export interface WarningList {
  /** Calls `message` only for the first warning of a place. */
  add(code: WarningCode, spot: Spot, message: () => string): void
  readonly warnings: () => readonly Warning[]
}

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

export function placeOf({ page, source }: Spot, find?: Program['find']): string {
  return source === undefined || find === undefined ? `page ${page}` : find(source)
}

/** What has no effect in a document, mostly styles. A document is translated several times; each message is kept once per place. */
interface IgnoredStyles {
  /** Called for each element with such a style. `source` is undefined if the source does not contain the style. */
  readonly add: (source: ElementPosition | undefined, message: string, code?: WarningCode) => void
  readonly warnings: () => readonly Warning[]
}

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
