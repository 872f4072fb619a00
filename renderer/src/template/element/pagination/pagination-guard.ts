/**
 * Ends react-pdf's own pagination, which has no limit and never ends if letters, margins or fixed elements are too high for a page. On
 * every page react-pdf reads the style of each fixed element, and converts an unknown length to a string. So an invisible element has a
 * length that counts these conversions and throws.
 */
import { createElement, type ReactElement } from 'react'
import type { Props } from '../prop.ts'

export class EndlessPagination extends Error {
  override readonly name = 'EndlessPagination'
}

/** Limits how often a length is converted for one page. About twenty are normal, page numbers included. */
const READINGS_PER_PAGE = 60
/** The plain pagination may make twice the pages of the fast one, and this many more. */
const PAGES_MORE_MAX = 10

/**
 * Makes one guard element for each page of a document. They throw `EndlessPagination` through react-pdf's layout, well after twice `pages`
 * pages.
 */
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
