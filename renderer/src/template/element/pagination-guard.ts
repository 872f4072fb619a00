/**
 * An end for react-pdf's own pagination, which goes on for ever where something fits on no page: letters, margins or what is fixed
 * can be too high, and it has no limit of its own. What it does do on every page is to read the style of each fixed element, and
 * to write out a length it does not know; so an element nobody sees has a length that counts, and throws.
 */
import { createElement, type ReactElement } from 'react'
import type { Props } from './prop.ts'

/** Thrown out of react-pdf's layout. */
export class EndlessPagination extends Error {
  override readonly name = 'OutOfPatience'
}

/** How often a length is written out for one page: some twenty times, with page numbers and all. */
const READINGS_PER_PAGE = 60
/** Pages the plain pagination may make for each of the fast one, and some more. */
const PAGES_MORE_MAX = 10

/** Makes the elements that end a document's pagination, one for each page, when it has made more than twice `pages`. */
export function openPaginationGuard(pages: number): () => ReactElement {
  let readingsLeft = READINGS_PER_PAGE * (2 * pages + PAGES_MORE_MAX)
  const width = {
    toString() {
      readingsLeft -= 1
      if (readingsLeft < 0) throw new EndlessPagination('the pagination does not end')
      return '0%'
    },
  }
  return () => createElement('VIEW', { key: 'patience', fixed: true, style: { position: 'absolute', width } } as Props)
}
