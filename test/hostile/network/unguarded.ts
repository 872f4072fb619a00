/**
 * What the service is without its guards: react-pdf and Chromium as they come. It shows that the canary sees what there is to
 * see, and that documents find what others left where a browser lets them.
 */
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { Document, Image, Page as PdfPage, renderToBuffer } from '@react-pdf/renderer'
import { type Browser, launch, type Page } from 'puppeteer'
import { createElement } from 'react'

/** What one document leaves, and how another looks for it: documents in HTML. The second says `found: ` and what it found. */
export interface Leaving {
  readonly leave: string
  readonly look: string
  /** Where a browser keeps it: in the page, or for all pages of the context. */
  readonly kept: 'page' | 'context'
}

/** Renders without a guard: an HTML document, or a react-pdf document of one image with the given source. */
export const RENDER_UNGUARDED: Readonly<Record<Engine, (source: string) => Promise<Uint8Array>>> = {
  html: (source) =>
    withBrowser(async (browser) => {
      const page = await browser.newPage()
      await page.setContent(source)
      return page.pdf()
    }),
  react_pdf: (src) =>
    renderToBuffer(createElement(Document, {}, createElement(PdfPage, {}, createElement(Image, { src })))),
}

/** What the second document of each finds when a browser holds both, in pages of the origin at `url`. */
export function findLeft(leavings: readonly Leaving[], url: string): Promise<readonly string[]> {
  return withBrowser(async (browser) => {
    const found: string[] = []
    for (const { leave, look, kept } of leavings) {
      const context = await browser.createBrowserContext()
      const first = await openAt(await context.newPage(), url)
      await first.setContent(leave)
      const second = kept === 'page' ? first : await openAt(await context.newPage(), url)
      await second.setContent(look)
      found.push(await second.evaluate('document.body.innerText').then(String))
      await context.close()
    }
    return found
  })
}

async function openAt(page: Page, url: string): Promise<Page> {
  await page.goto(url)
  return page
}

async function withBrowser<Result>(use: (browser: Browser) => Promise<Result>): Promise<Result> {
  const executablePath = await findChromium({})
  if (executablePath === undefined) throw new Error('these tests need Chromium')
  const browser = await launch({ executablePath, headless: 'shell', args: ['--no-sandbox'] })
  try {
    return await use(browser)
  } finally {
    await browser.close()
  }
}
