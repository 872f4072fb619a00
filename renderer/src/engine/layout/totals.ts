/**
 * The totals that `render` functions print: "page 2 of 3". react-pdf breaks a document into pages without them and, where there is any
 * such function, a second time when it has counted. Most documents of a template have as many pages as the last one had, so the
 * first time is given that number, and where it proves right there is no second: the pages would be the same.
 */
import type { PageNumbers } from '../../template/elements.ts'
import type { Instance } from './instance.ts'

/** How many pages came of each `<Page>` of a document. */
export type PageCounts = readonly number[]

export interface Totals {
  /** The numbers of a page, with the totals react-pdf does not know yet. */
  withTotals(page: PageNumbers): PageNumbers
  /** The document, which from here on tells when it has been broken into pages, and needs no second time if the guess was right. */
  track(document: Instance): Instance
  /** As many as were counted. */
  readonly counts: PageCounts
  /** Has a function been told a total that was guessed? */
  wereGuessesUsed(): boolean
}

/** What a page layout is told; nothing before there are pages. */
type PageLayout = (page: PageNumbers, content: readonly Instance[]) => readonly Instance[]

/** Without a guess react-pdf goes its own way. */
export function openTotals(guess: PageCounts | undefined): Totals {
  const counts: number[] = []
  /** Was there a function to be told totals before they were known? */
  let wereUnknown = false
  /** Props of what is made anew for each page. */
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
    // Whether a page has the prop is asked once: when all are made, and it is to be decided whether they are made again.
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

/** Of the `<Page>` that comes after so many pages. If the guess is right, there is one. */
function countFrom(guess: PageCounts, pagesBefore: number): number | undefined {
  let sum = 0
  return guess.find((count) => {
    const isIt = sum === pagesBefore
    sum += count
    return isIt
  })
}
