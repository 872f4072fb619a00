/**
 * The totals that `render` functions print: "page 2 of 3". react-pdf breaks a document into pages without them. If there is such a
 * function, it breaks the document again after it has counted the pages. Most documents of a template have as many pages as the last one,
 * so we give the first pass that number as a guess. If it is right, we skip the second pass: it would give the same pages.
 */
import type { PageNumbers } from '../../../template/elements.ts'
import type { Instance } from '../instance.ts'

/** The number of pages that each `<Page>` of a document produced. */
export type PageCounts = readonly number[]

export interface Totals {
  /** Adds the totals that react-pdf does not know yet. */
  withTotals(page: PageNumbers): PageNumbers
  /** Returns a document that reports its page counts while react-pdf makes its pages. It skips the second pass if the guess was right. */
  track(document: Instance): Instance
  readonly counts: PageCounts
  wereGuessesUsed(): boolean
}

/** Receives empty page numbers before there are pages. */
type PageLayout = (page: PageNumbers, content: readonly Instance[]) => readonly Instance[]

/** Without a guess, react-pdf makes both passes. */
export function openTotals(guess: PageCounts | undefined): Totals {
  const counts: number[] = []
  let wereUnknown = false
  const dynamic = new Set<Record<string, unknown>>()
  const pageGroups: Record<string, unknown>[] = []

  function skipSecondPass(): void {
    const isCounted = counts.length === pageGroups.length
    const isRight = counts.every((count, at) => count === guess?.[at]) && counts.length === guess?.length
    if (!isCounted || (wereUnknown && !isRight)) return
    for (const props of dynamic) delete props['render']
    for (const props of pageGroups) delete props['layout']
  }

  function trackPageGroup(pageGroup: Instance, at: number): Instance {
    const { layout } = (pageGroup.props ?? {}) as { layout?: PageLayout }
    const tracked: PageLayout = (page, content) => {
      if (page.subPageNumber === undefined) for (const node of content) collect(node)
      else counts[at] = Math.max(counts[at] ?? 0, page.subPageNumber)
      return layout === undefined ? content : layout(page, content)
    }
    const props = { ...pageGroup.props, layout: tracked }
    pageGroups.push(props)
    // react-pdf asks once whether a page has this prop: after it has made all pages, to decide on the second pass.
    const asked = new Proxy(props, {
      has(target, name) {
        if (name === 'render') skipSecondPass()
        return Reflect.has(target, name)
      },
    })
    return { ...pageGroup, props: asked }
  }

  function collect(node: Instance): void {
    if (node.props !== undefined && 'render' in node.props) dynamic.add(node.props)
    node.children?.forEach(collect)
  }

  return {
    withTotals(page) {
      if (page.totalPages !== undefined || page.pageNumber === undefined) return page
      wereUnknown = true
      if (guess === undefined) return page
      const { pageNumber, subPageNumber = 1 } = page
      const totalPages = guess.reduce((sum, count) => sum + count, 0)
      const subPageTotalPages = countFrom(guess, pageNumber - subPageNumber)
      return { ...page, totalPages, ...(subPageTotalPages !== undefined && { subPageTotalPages }) }
    },
    track: (document) => ({ ...document, children: document.children?.map(trackPageGroup) ?? [] }),
    counts,
    wereGuessesUsed: () => wereUnknown && guess !== undefined,
  }
}

/** The page count of the `<Page>` that begins after `pagesBefore` pages. Undefined if the guess is wrong. */
function countFrom(guess: PageCounts, pagesBefore: number): number | undefined {
  let sum = 0
  return guess.find((count) => {
    const isIt = sum === pagesBefore
    sum += count
    return isIt
  })
}
