/** The page at /docs, opened by a real browser, and its commands, typed into a shell. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { type Browser, launch, type Page } from 'puppeteer'
import { describe, expect, test } from 'vitest'
import { aFolder, shared } from '../fixture/lifetime.ts'
import { startExamples } from '../topology/embedded.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'

const service = shared(() => startExamples(LOOPBACK_ALLOWED))
const browser = shared(openBrowser)

async function openBrowser(): Promise<AsyncDisposable & Pick<Browser, 'newPage'>> {
  const executablePath = await findChromium({})
  if (executablePath === undefined) throw new Error('these tests need Chromium: renderer/install-chromium.sh')
  const launched = await launch({ executablePath, args: ['--no-sandbox'] })
  return { newPage: () => launched.newPage(), [Symbol.asyncDispose]: () => launched.close() }
}

interface Opened {
  readonly page: Page
  /** What the browser asked for. */
  readonly requested: readonly string[]
  /** What the browser wrote to the console. */
  readonly said: readonly string[]
}

async function open(width: number, scheme: 'light' | 'dark' = 'light'): Promise<Opened> {
  const page = await browser().newPage()
  const [requested, said]: [string[], string[]] = [[], []]
  page.on('request', (request) => requested.push(request.url()))
  page.on('console', (message) => said.push(message.text()))
  await page.setViewport({ width, height: 1000 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.goto(`${service().url()}/docs`, { waitUntil: 'networkidle0' })
  return { page, requested, said }
}

describe('in a browser', () => {
  test('it keeps its policy, and takes nothing from elsewhere', async () => {
    const { page, requested, said } = await open(1280)
    expect(said).toEqual([])
    expect(requested.filter((url) => !url.startsWith('data:'))).toEqual([`${service().url()}/docs`])
    // The style is in force.
    expect(await page.evaluate('getComputedStyle(document.body).display')).toBe('grid')
  })

  test('its policy stops a script that got into it', async () => {
    const { page, said } = await open(1280)
    const title = await page.title()
    await page.evaluate(`{
      const script = document.createElement('script')
      script.textContent = 'document.title = "changed"'
      document.body.append(script)
    }`)
    expect(await page.title()).toBe(title)
    expect(said).toEqual([expect.stringContaining('Content Security Policy')])
  })

  test.for([1280, 400])('it fits into a width of %d', async (width) => {
    const { page } = await open(width)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  })

  test.for(['light', 'dark'] as const)('its texts have the contrast that WCAG 2 asks for: %s', async (scheme) => {
    const { page } = await open(1280, scheme)
    // The program returns this.
    const pairs = (await page.evaluate(COLORS)) as readonly (readonly [string, string])[]
    expect(pairs.length).toBeGreaterThan(4)
    expect(pairs.filter(([text, back]) => contrastOf(text, back) < 4.5)).toEqual([])
  })
})

/** Returns the colors of each text and of what is behind it, each pair once. */
const COLORS = `{
  const backOf = (element) => {
    const { backgroundColor } = getComputedStyle(element)
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? backOf(element.parentElement) : backgroundColor
  }
  const hasText = ({ childNodes }) => [...childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  const texts = [...document.querySelectorAll('body *')].filter(hasText)
  const pairs = texts.map((element) => getComputedStyle(element).color + ' on ' + backOf(element))
  const colors = [...new Set(pairs)].map((pair) => pair.split(' on '))
  colors
}`

/** The contrast of two colors, `rgb(1, 2, 3)`, by the formula of WCAG 2. */
function contrastOf(...colors: readonly [string, string]): number {
  const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  const [dark = 0, light = 0] = colors
    .map((color) => (color.match(/\d+/g) ?? []).map((channel) => linear(Number(channel) / 255)))
    .map(([red = 0, green = 0, blue = 0]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .toSorted((one, other) => one - other)
  return (light + 0.05) / (dark + 0.05)
}

test('the service understands each of its commands', async () => {
  await using receiver = await aReceiver()
  const { page } = await open(1280)
  // The program returns this.
  const shown = (await page.evaluate(
    `[...document.querySelectorAll('article > pre')].map(({ textContent }) => textContent)`,
  )) as readonly string[]
  const commands = shown.map((command) => command.replaceAll('https://example.com', receiver.url))
  const folder = aFolder()
  const run = async (command: string, id: string) => {
    const env = { ...process.env, KEY: service().key, CODE: 'invoice', ID: id }
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} -D headers -w '\\n%{http_code}'`], {
      cwd: folder,
      env,
    })
    return Number(stdout.split('\n').at(-1))
  }

  const [create = '', status = '', ...others] = commands
  expect(await run(create, '')).toBe(200)
  const [, id = ''] = /^x-service-render-id: (\w+)/im.exec(await readFile(join(folder, 'headers'), 'utf8')) ?? []
  expect(await run(status, id)).toBe(200)
  const misunderstood: string[] = []
  for (const command of others) {
    const answer = await run(command, id)
    if ([400, 401, 405, 415, 422].includes(answer) || answer >= 500) misunderstood.push(`${command}: ${answer}`)
  }
  expect(misunderstood).toEqual([])
  expect(others.length).toBeGreaterThan(8)
})
