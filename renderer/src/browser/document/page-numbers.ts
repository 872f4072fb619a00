/**
 * Prints documents whose links name the page of their target: once to find the pages, and once more with the numbers. The numbers may move
 * later content, so a document is printed again while they still change, three times at most.
 */

import type { CDPSession } from 'puppeteer'
import { TARGET_PAGE } from '../../template/html/target-counter.ts'
import { QUOTE_CHARS_MAX } from '../limit.ts'
import { destinationPages } from '../pdf.ts'
import type { Finding } from './finding.ts'
import type { LoadedDocument } from './load.ts'
import { type PrintedBeside, print } from './print.ts'

const PRINTS_MAX = 3

interface PrintWithPageNumbers {
  readonly pdf: Uint8Array
  readonly findings: readonly Finding[]
}

type DocumentWithPageNumbers = PrintedBeside & Pick<LoadedDocument, 'run'> & { readonly hasTargetPages?: boolean }

/** Throws as `print` does. */
export async function printWithPageNumbers(
  session: CDPSession,
  { run, hasTargetPages = false, ...beside }: DocumentWithPageNumbers,
): Promise<PrintWithPageNumbers> {
  if (!hasTargetPages) return { pdf: await print(session, beside), findings: [] }
  // As wide as most page numbers, so that the first print breaks lines like the last one.
  await run(fillIn({}, '00'))
  let pdf = await print(session, beside)
  let pages = destinationPages(pdf)
  let lost: readonly string[] = []
  for (let prints = 1; prints < PRINTS_MAX; prints += 1) {
    lost = await run<readonly string[]>(fillIn(Object.fromEntries(pages), '?'))
    pdf = await print(session, beside)
    const now = destinationPages(pdf)
    if (isEqual(now, pages)) break
    pages = now
  }
  return { pdf, findings: lost.map(lostTarget) }
}

function isEqual(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  return one.size === other.size && one.entries().every(([name, page]) => other.get(name) === page)
}

function lostTarget(target: string): Finding {
  return { code: 'target_absent', message: `a link names the page of #${target}, and no element has this id` }
}

/** A script that gives each link within the document the page of its target. Returns the first targets that have none. */
function fillIn(pages: Readonly<Record<string, number>>, absent: string): string {
  return String.raw`(() => {
  const pages = new Map(Object.entries(${JSON.stringify(pages)})), lost = new Set()
  for (const link of Document.prototype.querySelectorAll.call(document, 'a[href^="#"]')) {
    const name = Element.prototype.getAttribute.call(link, 'href').slice(1)
    const encoded = URL.parse('#' + name, 'http://a')?.hash.slice(1) ?? name
    const page = pages.get(encoded) ?? pages.get(name)
    if (page === undefined && lost.size < 5) lost.add(name.slice(0, ${QUOTE_CHARS_MAX}))
    Element.prototype.setAttribute.call(link, '${TARGET_PAGE}', String(page ?? '${absent}'))
  }
  return JSON.stringify(Array.from(lost))
})()`
}
