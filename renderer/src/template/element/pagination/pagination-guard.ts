/**
 * Ends react-pdf's own pagination. It goes on for ever if something fits on no page: letters, margins or fixed elements can be too high,
 * and react-pdf has no limit. But on every page it reads the style of each fixed element, and converts a length it does not know to a
 * string. So an invisible element has a length that counts these conversions and throws.
 */
import { createElement, type ReactElement } from 'react'
import type { Props } from '../prop.ts'

/** Thrown through react-pdf's layout. */
export class EndlessPagination extends Error {
  override readonly name = 'EndlessPagination'
}

/** Limits how often a length is converted for one page. Some twenty times are normal, with page numbers and everything else. */
const READINGS_PER_PAGE = 60
/** How many more pages the plain pagination may make than twice those of the fast one. */
const PAGES_MORE_MAX = 10

/** Makes the elements that end a document's pagination, one for each page. They throw once there are many more than twice `pages` pages. */
export function openPaginationGuard(pages: number): () => ReactElement {
  let readingsLeft = READINGS_PER_PAGE * (2 * pages + PAGES_MORE_MAX)
  const width = {
    toString() {
      readingsLeft -= 1
      if (readingsLeft < 0) throw new EndlessPagination('the pagination does not end')
      return '0%'
    },
  }
  return () =>
    createElement('VIEW', { key: 'pagination-guard', fixed: true, style: { position: 'absolute', width } } as Props)
}
