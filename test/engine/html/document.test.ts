import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import { nextLoad } from '@platen/renderer/browser/document/load.ts'
import { print } from '@platen/renderer/browser/document/print.ts'
import { SMALL_PAGES_MAX } from '@platen/renderer/browser/document/small-pdf.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { writeFontConfig } from '@platen/renderer/browser/font-config.ts'
import { chromiumFlags, launchBrowser } from '@platen/renderer/browser/launch.ts'
import { describe, expect, test } from 'vitest'
import { aPng } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { listening } from '../../topology/server/port.ts'
import {
  anEngine,
  aWork,
  colourAt,
  infoOf,
  inspect,
  placesOf,
  sizeOf,
  temporaryFolder,
  textOf,
  type WorkParts,
} from './html-fixture.ts'

const FONT = '../../../node_modules/dejavu-fonts-ttf/ttf/DejaVuSansMono-Oblique.ttf'

const render = (html: string, parts?: WorkParts) => opened().render(aWork(`<!doctype html>${html}`, parts))

const opened = shared(() => anEngine())

describe('a document', () => {
  test('has every row of a long invoice once, in a PDF without faults', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => ({ text: `Item-${index}-`, price: index * 1.5 }))
    const pdf = await render(
      `<title>Invoice</title><table>{% for row in rows %}
       <tr><td>{{ row.text }}</td><td>{{ row.price | currency: "EUR", "de-DE" }}</td></tr>{% endfor %}</table>`,
      { data: { rows } },
    )
    inspect(pdf, 'qpdf', '--check')
    const items = textOf(pdf).match(/Item-\d+-/g)
    expect(items).toEqual(rows.map(({ text }) => text))
    expect(Number(infoOf(pdf, 'Pages'))).toBeGreaterThan(1)
  })

  test('is the same to the byte for equal input, on a warm page and on a fresh one', async () => {
    const html = '<title>T</title><p>{{ x }}</p>'
    const first = await render(html, { data: { x: '€ 5' }, tenant: 'fresh-one' })
    const again = await render(html, { data: { x: '€ 5' }, tenant: 'fresh-one' })
    const other = await render(html, { data: { x: '€ 5' }, tenant: 'fresh-two' })
    expect(Buffer.compare(first, again)).toBe(0)
    expect(Buffer.compare(first, other)).toBe(0)
    expect(infoOf(first, 'CreationDate')).toMatch(/Nov 21 .*2026/)
  })

  test('whose PDF is larger than was expected is printed all the same', async () => {
    const folder = temporaryFolder()
    const flags = await chromiumFlags({ isSandboxed: process.getuid?.() !== 0 })
    const fontConfigFile = await writeFontConfig(join(folder, 'font'))
    const executablePath = (await findChromium({})) ?? ''
    const settings = { clock: systemClock(), executablePath, profileDir: folder, fontConfigFile, flags }
    const browser = await launchBrowser(settings, NEVER)
    const page = await browser.browser.newPage()
    const session = await page.createCDPSession()
    const { frameTree } = await session.send('Page.getFrameTree')
    // Noise of 7 MB, which nothing compresses.
    const side = 1500
    const pixels = randomBytes(side * (1 + 3 * side)).map((byte, at) => (at % (1 + 3 * side) === 0 ? 0 : byte))
    const noise = aPng({ width: side, height: side, color: 2, pixels }).toString('base64')
    const html = `<img width="100" src="data:image/png;base64,${noise}">`
    const loaded = nextLoad(page)
    await session.send('Page.setDocumentContent', { frameId: frameTree.frame.id, html })
    await loaded
    const pdf = await print(session, { date: 0, sides: { left: '0', right: '0' }, isSmall: true })
    await browser.kill()
    rmSync(folder, { recursive: true, force: true })
    expect(pdf.byteLength).toBeGreaterThan(6 * 1024 * 1024)
    inspect(pdf, 'qpdf', '--check')
  })

  test.for([
    ['its own', '<title>Rechnung № 7</title><p>x', 'Rechnung № 7'],
    ['the template’s name where it has none', '<p>x', 'The template’s name'],
    ['what looks like a count of pages', '<title>/Count 999999999</title><p>x', '/Count 999999999'],
    ['the first characters of a long one', `<title>${'t'.repeat(1e5)}</title><p>x`, 't'.repeat(1000)],
    ['the template’s name where its own is empty', '<title> </title><p>x', 'The template’s name'],
    [
      'the template’s name where an element hides the title',
      '<img name="title"><form name="body"></form>',
      'The template’s name',
    ],
  ])('has for its title %s', async ([, html = '', title]) => {
    expect(infoOf(await render(html), 'Title')).toBe(title)
  })

  test('shows the characters of Europe and symbols in embedded fonts, and gives them back as text', async () => {
    const words = 'Zażółć gęślą Ελληνικά Привет Łódź € ✓ ☎ №'
    const families = ['serif', 'sans-serif', 'monospace', 'Arial', 'Georgia', 'Courier New', 'Nobody Has This']
    const pdf = await render(families.map((family) => `<p style="font-family:'${family}'">${words}</p>`).join(''))
    expect(textOf(pdf)).toBe(families.map(() => words).join(' '))
    const fonts = inspect(pdf, 'pdffonts').split('\n').slice(2).filter(Boolean)
    expect(fonts.length).toBeGreaterThan(0)
    for (const font of fonts)
      expect(font).toMatch(/(DejaVuSans|Arimo-Regular|Tinos-Regular|Cousine-Regular) .* yes +yes +yes /)
  })

  test('takes its fonts and images from data: URLs', async () => {
    const pixel =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const file = readFileSync(join(import.meta.dirname, FONT), 'base64')
    const pdf = await render(
      `<style>@font-face { font-family: own; src: url(data:font/ttf;base64,{{ file }}) }
       @media print { p { font-family: own } }</style><p>own font</p>
       <img src="${pixel}" width="50" height="50"><div style="height:3000px"></div><img loading="lazy" src="${pixel}" width="50" height="50">`,
      { data: { file } },
    )
    expect(inspect(pdf, 'pdffonts')).toContain('DejaVuSansMono-Oblique')
    const images = inspect(pdf, 'pdfimages', '-list', 'FILE').matchAll(/^ *(\d+) .* image /gm)
    expect(new Set(Array.from(images, ([, page]) => page))).toEqual(new Set(['1', '4']))
  })

  test('has header and footer with page numbers on each page', async () => {
    const pdf = await render('<p>one</p><p style="break-before:page">two</p>', {
      header: 'Head {{ n }}',
      footer: 'Page <span class="pageNumber"></span> of <span class="totalPages"></span>',
      data: { n: 7 },
    })
    expect(textOf(pdf)).toBe('Head 7 one Page 1 of 2 Head 7 two Page 2 of 2')
  })

  test('has no header of Chromium’s own where only a footer is given', async () => {
    expect(textOf(await render('<p>one</p>', { footer: 'foot' }))).toBe('one foot')
  })

  test('says who made it and what it is about', async () => {
    const meta =
      '<meta name="Author" content=" Ada Lovelace "><meta name=description content="Öl"><meta name="keywords" content="a, b">'
    const pdf = await render(`<html lang="de-AT">${meta}x`, { template: { locale: 'pl-PL' } })
    const fields = ['Author', 'Subject', 'Keywords', 'Creator', 'Title'].map((field) => infoOf(pdf, field))
    expect(fields).toEqual(['Ada Lovelace', 'Öl', 'a, b, template:invoice, version:3', 'Platen', 'The template’s name'])
    const plain = await render('<!doctype html><html lang="fr"><meta name="author" content="Ada">x')
    expect([pdf, plain].map(languageOf)).toEqual(['de-AT', 'fr'])
    expect(infoOf(plain, 'Author')).toBe('Ada')
  })

  test('is in the language of the template where it names none, and of an author nobody has to name', async () => {
    const pdf = await render('x', { template: { locale: 'pl-PL' } })
    expect([languageOf(pdf), infoOf(pdf, 'Author')]).toEqual(['pl-PL', undefined])
    expect(infoOf(pdf, 'Keywords')).toBe('template:invoice, version:3')
  })

  test('has metadata of bounded length, whatever it says', async () => {
    const pdf = await render(`<meta name="author" content="${'x'.repeat(5000)}"><form name="querySelectorAll"></form>x`)
    expect(infoOf(pdf, 'Author')).toBe('x'.repeat(1000))
  })

  test('of the sandbox carries the word TEST', async () => {
    expect(textOf(await render('x', { isSandbox: true }))).toContain('TEST')
  })

  test.for([1, SMALL_PAGES_MAX, SMALL_PAGES_MAX + 1, 2001])('has all of its %i pages or none', async (pages) => {
    const rendered = render('<p style="break-after:page">x</p>'.repeat(pages))
    if (pages > 2000) await expect(rendered).rejects.toMatchObject({ code: 'page_limit' })
    else expect(infoOf(await rendered, 'Pages')).toBe(String(pages))
  })

  test('may not refer to endlessly much outside of it', async () => {
    const html = `<base href="http://example.org/${'x'.repeat(100_000)}/">{% for i in (1..200) %}<img src="{{ i }}">{% endfor %}`
    await expect(render(html)).rejects.toMatchObject({ code: 'template_error' })
    expect(textOf(await render('<p>next'))).toBe('next')
  })
})

describe('the page', () => {
  const a5 = '<style>@page { size: A5; margin: 3cm }</style>'
  test.for<[string, RenderOptions, string, string]>([
    ['is A4 upright when nobody says anything', {}, '', '595x842'],
    ['is what the source says', {}, a5, '420x595'],
    ['is what the options say', { page_size: 'LETTER' }, a5, '612x792'],
    ['is what the options say of one side', { page_size: { width: 300, height: 400 } }, a5, '300x400'],
    ['turns as the options say', { page_size: 'A4', orientation: 'landscape' }, '', '842x595'],
    ['of the source turns as the options say', { orientation: 'landscape' }, a5, '595x420'],
    ['of A4 turns as the options say', { orientation: 'landscape' }, '', '842x595'],
    [
      'of a source turns inside its media rule',
      { orientation: 'landscape' },
      `<style>@media print { @page { size: 10cm 20cm } }</style>`,
      '567x283',
    ],
    [
      'is what the options say against an important rule',
      { page_size: 'A4' },
      '<style>@page { size: A3 !important } @page :first { size: A6 !important }</style>',
      '595x842',
    ],
    [
      'is what the options say against a policy of the source',
      { page_size: 'A6' },
      '<meta http-equiv="Content-Security-Policy" content="style-src \'none\'">',
      '298x420',
    ],
    ['is what the options say after an unclosed comment', { page_size: 'A6' }, '<p>x <!-- ', '298x420'],
  ])('%s', async ([, options, html, size]) => {
    expect(sizeOf(await render(`${html}<p>x`, { options }))).toBe(size)
  })

  const own = '<style>@page { margin: 20pt 30pt 40pt 50pt }</style>'
  // Upper left and lower right corner of what there is room for on A6, 298 by 420 points.
  test.for<[string, RenderOptions, string, [left: number, top: number, right: number, bottom: number]]>([
    ['1 cm when nobody says anything', {}, '', [28, 28, 269, 392]],
    ['the source’s', {}, own, [50, 20, 268, 380]],
    ['the options’', { margin: 50 }, own, [50, 50, 248, 370]],
    ['the options’ on top', { margin: { top: 90 } }, own, [50, 90, 268, 380]],
    ['the options’ on the right', { margin: { right: '1in' } }, own, [50, 20, 226, 380]],
    ['the options’ at the bottom', { margin: { bottom: '50.8mm' } }, own, [50, 20, 268, 276]],
    ['the options’ on the left', { margin: { left: '96px' } }, own, [72, 20, 268, 380]],
    ['none', { margin: 0 }, own, [0, 0, 298, 420]],
  ])('has for margins %s', async ([, options, html, [left, top, right, bottom]]) => {
    const box = (at: string) =>
      `<p style="position:absolute;margin:0;${at};width:10px;height:10px;background:rgb(255 0 0)"></p>`
    const page = '<style>body { margin: 0 } div { position: relative; height: calc(100vh - 0.1px) }</style>'
    const corners = `<div>${box('left:0;top:0')}${box('right:0;bottom:0')}</div>`
    const pdf = await render(html + page + corners, { options: { page_size: 'A6', ...options } })
    // Two points inside the corner there is ink, two points outside there is none.
    const colours = [
      colourAt(pdf, left + 2, top + 2),
      colourAt(pdf, right - 3, bottom - 3),
      ...(left > 3 ? [colourAt(pdf, left - 2, top + 2), colourAt(pdf, right + 2, bottom - 3)] : []),
      ...(top > 3 ? [colourAt(pdf, left + 2, top - 2), colourAt(pdf, right - 3, bottom + 2)] : []),
    ]
    const white = [255, 255, 255]
    expect(colours).toEqual([[255, 0, 0], [255, 0, 0], ...colours.slice(2).map(() => white)])
    expect(colours).toHaveLength(left > 3 ? 6 : 2)
  })

  test.for<[string, RenderOptions, string]>([
    ['the page of the options', { page_size: 'A6', margin: 500 }, '0 × 0 of a page of 297.6 × 419.5'],
    ['the page of the source', { margin: { left: 200, right: 200 } }, '19.5 × 595.3 of a page of 419.5 × 595.3'],
  ])('refuses margins that leave no room on %s', async ([, options, left]) => {
    const message = `options.margin leaves ${left} points; at least 28 × 28 must be left`
    const refused = expect.objectContaining({ code: 'invalid_options', message })
    await expect(render(`${a5}x`, { options })).rejects.toEqual(refused)
  })
})

describe('header and footer', () => {
  const edges = {
    header: '<span>Head</span>',
    footer: `<style>.line { display: flex; justify-content: space-between }</style>
      <div class="line"><b class="title"></b><i>End</i></div>`,
  }

  test('are printed into the margins, with styles and the title, in from the sides as the text is', async () => {
    const html = '<title>Offer</title><style>@page { margin: 60pt 70pt 80pt 90pt } body { margin: 0 }</style>Text'
    const places = placesOf(await render(html, edges))
    const [head, text, offer, end] = ['Head', 'Text', 'Offer', 'End'].map((word) => places.get(word))
    expect([head?.x, text?.x, offer?.x]).toEqual([90, 90, 90])
    expect([head?.y, text?.y].map((y) => Number(y) < 60)).toEqual([true, false])
    expect(Number(offer?.y)).toBeGreaterThan(842 - 80)
    // Some 17 points wide.
    expect(595 - 70 - Number(end?.x)).toBeLessThan(25)
    expect(595 - 70 - Number(end?.x)).toBeGreaterThan(5)
  })

  test.for<[string, RenderOptions, number]>([
    ['1 cm', {}, 28],
    ['the margin of the options', { margin: { left: 100 } }, 100],
    ['all margins of the options', { margin: '1in' }, 72],
  ])('begin %s from the side', async ([, options, x]) => {
    expect(placesOf(await render('Text', { ...edges, options })).get('Head')?.x).toBe(x)
  })
})

test('header and footer share the rules of their styles, and have none of the document', async () => {
  const style =
    '<style>b { color: rgb(255 0 0); background: rgb(255 0 0); -webkit-print-color-adjust: exact } i { display: none }</style>'
  const bar = '<b style="display: block; width: 100px; height: 20px">x</b>'
  const pdf = await render('<style>b { display: none !important }</style>Text', {
    header: bar,
    footer: `${style}<i>Foot</i>`,
  })
  expect([colourAt(pdf, 60, 20), textOf(pdf)]).toEqual([[255, 0, 0], 'x Text'])
})

describe('the style of a document', () => {
  test('may be a grid and a flexible row', async () => {
    const grid =
      'position: absolute; left: 0; top: 0; display: grid; grid-template-columns: 100pt 200pt; grid-template-rows: 40pt 40pt'
    const row =
      'position: absolute; left: 0; top: 100pt; width: 400pt; display: flex; justify-content: flex-end; gap: 50pt'
    const cells = (words: string) => words.replace(/\w+/g, (word) => `<div style="width: 60pt">${word}</div>`)
    const pdf = await render(
      `<style>@page { margin: 0 } body { margin: 0; line-height: 1.5 }</style><div style="${grid}">${cells('a b c d')}</div><div style="${row}">${cells('e f')}</div>`,
    )
    const places = placesOf(pdf)
    const columns = Object.fromEntries(Array.from(places, ([word, { x }]) => [word, x]))
    expect(columns).toEqual({ a: 0, b: 100, c: 0, d: 100, e: 230, f: 340 })
    const top = (word: string) => Number(places.get(word)?.y)
    expect([top('c') - top('a'), top('d') - top('b'), top('e') - top('a')]).toEqual([40, 40, 100])
  })

  test('may set the first page apart, and write into the margins of all', async () => {
    const style = `@page { size: A5; margin: 50pt; @bottom-right { content: counter(page) "/" counter(pages) } @top-left { content: "Running" } }
      @page :first { margin-top: 150pt; @top-left { content: "" } } body { margin: 0 }`
    const pdf = await render(`<style>${style}</style>First<p style="break-before: page; margin: 0">Second</p>`)
    expect(textOf(pdf)).toBe('First 1/2 Running Second 2/2')
    const places = placesOf(pdf)
    const [first, second, running] = ['First', 'Second', 'Running'].map((word) => Number(places.get(word)?.y))
    expect(Number(first) - Number(second)).toBe(100)
    expect(Number(running)).toBeLessThan(50)
    expect(Number(places.get('2/2')?.x)).toBeGreaterThan(300)
    expect(Number(places.get('2/2')?.y)).toBeGreaterThan(595 - 50)
  })
})

describe('isolation', () => {
  test('runs no script of a template, its header or its data', async () => {
    const script = `<script>document.write('RAN')</script><img src="data:," onerror="document.body.append('RAN')">`
    const pdf = await render(`${script}{{ x | raw }}<noscript>no script</noscript>`, {
      header: script,
      data: { x: script },
    })
    expect(textOf(pdf)).toBe('no script')
  })

  test('opens no connection whatever the document refers to, and prints it', async () => {
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await using listener = await listening(server)
    const { url } = listener
    for (const [name, html] of Object.entries(references(url))) {
      const pdf = await render(`<title>${name}</title><p>before</p>${html}<p>after</p>`, {
        header: `<img src="${url}">head`,
      })
      expect([name, connections, /before.*after/.test(textOf(pdf))]).toEqual([name, 0, true])
    }
  })

  test('reads no file of the machine', async () => {
    const frames = ['iframe src', 'embed src', 'object data', 'img src'].map((tag) => `<${tag}="file:///etc/passwd">`)
    expect(textOf(await render(`x ${frames.join('')}`))).not.toContain('root:')
  })

  test('shows a tenant nothing of a document another tenant had before', async () => {
    await render('<title>Secret</title><style title="a">p::after { content: "secret" }</style><p>x', {
      tenant: 'first',
    })
    const pdf = await render('<p>y', { tenant: 'second' })
    expect([textOf(pdf), infoOf(pdf, 'Title')]).toEqual(['y', 'The template’s name'])
  })

  test.for([
    ['a title', '<title>Old</title>x'],
    ['the name of its style sheet', '<style title="old">p::after { content: "OLD" }</style>x'],
    ['a policy', `<meta http-equiv="Content-Security-Policy" content="style-src 'none'">x`],
    ['a refresh', '<meta content="0.01;url=about:blank" http-equiv="refresh">x'],
    ['quirks', '<p>x'],
  ])('leaves the next document of the same tenant nothing of %s', async ([tenant = '', html = '']) => {
    // A document that goes elsewhere by itself may fail.
    await opened()
      .render(aWork(html, { tenant }))
      .catch(() => undefined)
    const pdf = await render('<style title="new">p::after { content: " styled" }</style><p>New</p>', { tenant })
    expect([textOf(pdf), infoOf(pdf, 'Title')]).toEqual(['New styled', 'The template’s name'])
  })
})

/** The language in the catalog of a PDF. */
function languageOf(pdf: Uint8Array): string | undefined {
  return /"\/Lang": "(?:u:)?([^"]*)"/.exec(inspect(pdf, 'qpdf', '--json', '--json-key=qpdf', 'FILE'))?.[1]
}

/** Every way a document without scripts can refer to something. */
function references(url: string): Record<string, string> {
  return {
    image: `<img src="${url}/a.png"><picture><source srcset="${url}/b.png"><img></picture><input type="image" src="${url}/c">`,
    style: `<style>@import url(${url}/a.css); div { background: url(${url}/b); cursor: url(${url}/c) }</style><div>x</div>`,
    'style sheet': `<link rel="stylesheet" href="${url}/a.css">`,
    font: `<style>@font-face { font-family: z; src: url(${url}/z.woff) } p { font-family: z }</style>`,
    frame: `<iframe src="${url}"></iframe><iframe srcdoc="<img src='${url}'>"></iframe><iframe src="data:text/html,<img src='${url}'>"></iframe>`,
    object: `<object data="${url}/a"></object><embed src="${url}/b">`,
    refresh: `<meta http-equiv="refresh" content="0;url=${url}">`,
    hint: ['prefetch', 'preconnect', 'dns-prefetch', 'prerender', 'icon', 'manifest', 'modulepreload']
      .map((rel) => `<link rel="${rel}" href="${url}">`)
      .join(''),
    preload: `<link rel="preload" as="image" href="${url}/p"><link rel="preload" as="fetch" href="${url}/q">`,
    media: `<video src="${url}/a" poster="${url}/b" autoplay></video><audio src="${url}/c" autoplay></audio><track src="${url}/d">`,
    drawing: `<svg><image href="${url}/a"/><use href="${url}/b#c"/></svg><img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><image href='${url}'/></svg>">`,
    base: `<base href="${url}"><img src="a.png"><body background="b.png">`,
  }
}
