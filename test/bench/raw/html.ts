/** puppeteer as its documentation has it, on the service's own browser with its flags: a warm page used again, or a new context for each render. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { writeFontConfig } from '@platen/renderer/browser/font-config.ts'
import { chromiumFlags, environmentOf } from '@platen/renderer/browser/launch.ts'
import { launch, type Page } from 'puppeteer'
import { serve } from '../child.ts'
import { filledHtml } from '../invoice.ts'
import { timed } from '../measure.ts'

const isWarm = process.argv[2] === 'warm'
const executablePath = await findChromium({})
if (executablePath === undefined) throw new Error('the benchmark needs Chromium: make test installs it')
const profileDir = mkdtempSync(join(tmpdir(), 'platen-bench-'))
const fontConfigFile = await writeFontConfig(join(profileDir, 'font'))
const flags = await chromiumFlags({ isSandboxed: process.getuid?.() !== 0 })
// With these flags the browser opens no page by itself.
const browser = await launch({
  executablePath,
  args: [...flags, `--user-data-dir=${profileDir}`],
  env: environmentOf(fontConfigFile, profileDir),
  pipe: true,
  ignoreDefaultArgs: true,
  defaultViewport: null,
  waitForInitialPage: false,
})
process.once('disconnect', () => {
  void browser.close().then(() => {
    rmSync(profileDir, { recursive: true, force: true, maxRetries: 10 })
    process.exit()
  })
})

const pages = new Map<number, Page>()

async function print(page: Page, html: string): Promise<Uint8Array> {
  await page.setContent(html)
  return await page.pdf({ format: 'A4', printBackground: true, preferCSSPageSize: true, tagged: false, outline: false })
}

async function inWarmPage(html: string, lane: number): Promise<Uint8Array> {
  const page = pages.get(lane) ?? (await browser.newPage())
  pages.set(lane, page)
  return await print(page, html)
}

async function inNewContext(html: string): Promise<Uint8Array> {
  const context = await browser.createBrowserContext()
  try {
    return await print(await context.newPage(), html)
  } finally {
    await context.close()
  }
}

serve(async ({ rows, ...batch }) => {
  const html = filledHtml(rows)
  return await timed(batch, (lane) => (isWarm ? inWarmPage(html, lane) : inNewContext(html)))
})
