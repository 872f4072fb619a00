/** What html documents are warned of: what Chromium drops, breaks, swallows and shrinks without a word. And what is nothing to warn of. */
import type { Warning } from '@platen/contract/warning.ts'
import { describe, expect, test } from 'vitest'
import { anAsset, anSvg, aSquare, RED } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork, textOf, type WorkParts } from './html-fixture.ts'

const opened = shared(() => anEngine())

const SCRIPTED: WorkParts = { javascript: true, javascriptEnabled: true }
const DAMAGED = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA'

async function warningsOf(html: string, parts?: WorkParts): Promise<readonly Warning[]> {
  return (await opened().engine.render(aWork(`<!doctype html>\n${html}`, parts), NEVER)).warnings
}

/** The warnings as lines: `code place: message`. */
async function linesOf(html: string, parts?: WorkParts): Promise<readonly string[]> {
  return (await warningsOf(html, parts)).map(({ code, place = '-', message }) => `${code} ${place}: ${message}`)
}

describe('file_refused', () => {
  const unlisted = (what: string) => `the ${what} was not loaded: it is not of an allowed host of the template`
  const unusable = (address: string) =>
    `${address} was not loaded: use an asset, or the whole URL of a file of an allowed host`
  test.for<[string, string, string, string]>([
    ['an image', '<img src="https://cdn.test/a.png">', '2:11', unlisted('image https://cdn.test/a.png')],
    ['a secret', '<img src="https://cdn.test/a?token=1#x">', '2:11', unlisted('image https://cdn.test/a')],
    ['a background', '<p style="background:url(https://b.test/)">x', '2:26', unlisted('image https://b.test/')],
    ['an origin', '<img src="https://cdn.test">', '2:11', unlisted('image https://cdn.test/')],
    [
      'fonts of Google',
      '<link rel="preconnect" href="https://f.test"><link rel="stylesheet" href="https://f.test/css2?family=A&amp;display=swap">',
      '2:75',
      unlisted('style sheet https://f.test/css2'),
    ],
    [
      'a font',
      '<style>@font-face{font-family:A;src:url("https://f.test/a.woff2")} p{font-family:A}</style><p>x',
      '2:42',
      unlisted('font https://f.test/a.woff2'),
    ],
    [
      'a frame',
      '<iframe src="https://f.test/x"></iframe>',
      '2:14',
      'the frame https://f.test/x was not loaded: a document shows no other pages',
    ],
    ['a relative image', '\n<p>x</p> <img src=logo.png>', '3:19', unusable('logo.png')],
    ['an image of a scheme', '<img src="//cdn.test/a.png">', '2:11', unusable('//cdn.test/a.png')],
    ['an image with a password', '<img src="https://u:p@cdn.test/a">', '2:11', unusable('https://cdn.test/a')],
    ['a file', '<img src="file:///etc/passwd">', '2:11', unusable('file:///etc/passwd')],
    ['a relative style sheet', '<link rel="stylesheet" href="a.css">', '2:30', unusable('a.css')],
    ['a relative import', '<style>@import "a.css";</style>', '2:17', unusable('a.css')],
    ['a relative background', '<style>p::before{background:url(a.png)}</style><p>x', '2:33', unusable('a.png')],
    ['one in an attribute', `<p style="background:url('a.png')">x`, '2:27', unusable('a.png')],
    [
      'a relative font',
      '<style>@font-face{font-family:A;src:url(a.woff)} p{font-family:A}</style><p>x',
      '2:41',
      unusable('a.woff'),
    ],
  ])('names %s, and its place', async ([, html, at, message]) => {
    expect(await linesOf(html)).toEqual([`file_refused template.html:${at}: ${message}`])
  })

  test('names a script of another host, where scripts run', async () => {
    const scripts = '<script src="https://cdn.test/a.js"></script><script src="b.js"></script>'
    expect(await linesOf(scripts, SCRIPTED)).toEqual([
      'file_refused template.html:2:14: the script https://cdn.test/a.js was not loaded: it is not of an allowed host of the template',
      'file_refused template.html:2:59: b.js was not loaded: use an asset, or the whole URL of a file of an allowed host',
    ])
  })

  test('has no place for an address of the data, and names it once', async () => {
    const data = { logo: 'https://cdn.test/\u001b[31mred.png' }
    expect(await warningsOf('<img src="{{ logo }}"><img src="{{ logo }}">', { data })).toEqual([
      { code: 'file_refused', message: unlisted('image https://cdn.test/%1B[31mred.png') },
    ])
    const escape = { logo: '\u001b[31mred.png' }
    expect(await linesOf('<img src="{{ logo }}">', { data: escape })).toEqual([
      `file_refused -: ${unusable(' [31mred.png')}`,
    ])
  })

  test('names the first ten, whatever their length', async () => {
    const html =
      '{% for i in (1..30) %}<img src="https://cdn.test/{{ i }}{{ long }}"><img src="{{ i }}{{ long }}">{% endfor %}'
    const warnings = await warningsOf(html, { data: { long: 'x'.repeat(3000) } })
    expect(warnings.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 'file_refused'))
    for (const { message } of warnings) expect(message.length).toBeLessThan(400)
  })

  test('names images of header and footer', async () => {
    const header = '<b>x</b><img src="https://cdn.test/a.png?x=1">'
    const footer = '<i style="background: url(b.png)">y</i><img src="asset:red.png"><svg fill="url(#c)"></svg>'
    const reason = 'was not loaded: a header or footer shows assets, images of allowed hosts and data: URLs'
    expect(await linesOf('x', { header, footer, assets: [anAsset('red.png', aSquare(RED))] })).toEqual([
      `file_refused header.html:1:19: the image https://cdn.test/a.png ${reason}`,
      `file_refused footer.html:1:27: the image b.png ${reason}`,
    ])
  })
})

describe('file_damaged', () => {
  test('names an image that cannot be decoded', async () => {
    expect(await linesOf(`<p>x</p>\n<img src="${DAMAGED}">`)).toEqual([
      'file_damaged template.html:3:11: an image of the document cannot be decoded: data:image/png,…',
    ])
    expect(await linesOf('<img src="{{ logo }}">', { data: { logo: DAMAGED } })).toEqual([
      'file_damaged -: an image of the document cannot be decoded: data:image/png,…',
    ])
  })

  test('names a font that cannot be read', async () => {
    const rule = '@font-face { font-family: Own; src: url(data:font/ttf;base64,AAAA) }'
    expect(await linesOf(`<style>${rule} p { font-family: Own }</style><p>x`)).toEqual([
      'file_damaged -: the font Own of a data: URL cannot be read',
    ])
  })
})

describe('script_error', () => {
  test.for<[string, string, string]>([
    ['an exception', 'throw new RangeError("no")', '2:15: Uncaught RangeError: no'],
    ['a syntax error', '\n  let let = 1', '3:7: Uncaught SyntaxError: let is disallowed as a lexically bound name'],
    [
      'an exception later',
      '\nsetTimeout(() => {\n  absent()\n})',
      '4:3: Uncaught ReferenceError: absent is not defined',
    ],
    ['a rejection', '\nPromise.reject(new Error("no"))', '3:16: unhandled rejection: Error: no'],
    ['an error on the console', '\n  console.error("a", 1, new Error("b"))', '3:11: console.error: a 1 Error: b'],
  ])('is %s, with its line', async ([, script, told]) => {
    expect(await linesOf(`<script>${script}</script>`, SCRIPTED)).toEqual([`script_error template.html:${told}`])
  })

  test('has the line of the filled HTML where the source has no such line', async () => {
    const html = '{% for i in (1..3) %}\n{% endfor %}<script>\nfail({{ total }})\n</script>'
    expect(await linesOf(html, { ...SCRIPTED, data: { total: 5 } })).toEqual([
      'script_error -: Uncaught ReferenceError: fail is not defined (line 6 of the filled HTML)',
    ])
    const moved = html.replace('{{ total }}', '"x"')
    expect(await linesOf(moved, SCRIPTED)).toEqual([
      'script_error template.html:4:1: Uncaught ReferenceError: fail is not defined',
    ])
  })

  test('ends after ten, and cuts what is long', async () => {
    const script = 'for (let i = 0; i < 1e4; i += 1) console.error("\\u0000\\u001b" + "x".repeat(1e4))'
    const warnings = await warningsOf(`<script>${script}</script>`, SCRIPTED)
    expect(warnings).toHaveLength(10)
    for (const { message } of warnings) expect(message).toMatch(/^console\.error: {1,2}x{0,600}$/)
  })
})

describe('page_shrunk', () => {
  test.for<[string, string, RegExp]>([
    [
      'a box',
      '<div class="chart wide" style="width:900px">Sales of 2026</div>',
      /719 px .* <div class="chart wide"> “Sales of 2026” is wider: all of it is printed at 79 %$/,
    ],
    [
      'a box that does not even fit then',
      '<div style="width:2000px">x</div>',
      /<div> “x” .* 67 %, and its right side is cut off$/,
    ],
    ['a word', `<table><tr><td>a</td><td id="x">${'W'.repeat(60)}</td></tr></table>`, /<td> “W{40}” is wider/],
    [
      'a box on a small page',
      '<style>@page { size: 105mm 148mm; margin: 1in }</style><p style="width: 300px">x',
      /205 px .* <p> “x”/,
    ],
  ])('names %s that is too wide', async ([, html, message]) => {
    expect(await warningsOf(html)).toEqual([{ code: 'page_shrunk', message: expect.stringMatching(message) }])
  })

  test.for([
    ['a background', '<body style="background: red">'],
    [
      'boxes in the margins',
      '<style>@page { margin: 2cm; background: red; @top-left { content: "Long head, long head"; border: 1px solid } }</style>',
    ],
    ['a header', '', { header: '<b>x</b>' }],
  ] as const)('sees it in spite of %s', async ([, html, parts = {}]) => {
    expect(await warningsOf(`${html}<p style="width:900px">x`, parts)).toEqual([
      { code: 'page_shrunk', message: expect.stringContaining('<p> “x” is wider') },
    ])
  })

  test('leaves the next document of the page its width', async () => {
    const html = '<p style="width: 100vw">x</p>'
    const [first, , again] = [
      await warningsOf(html),
      await warningsOf('<p style="width:900px">x'),
      await warningsOf(html),
    ]
    expect([first.length, again]).toEqual([first.length, first])
  })

  test('says it of a document whose scripts hide what they do', async () => {
    const html = `<p style="width:900px">x</p><script>
      Element.prototype.getBoundingClientRect = Element.prototype.matches = () => { throw 1 }
    </script>`
    expect(await warningsOf(html, SCRIPTED)).toEqual([
      { code: 'page_shrunk', message: expect.stringContaining('<p> “x” is wider') },
    ])
  })
})

describe('javascript_disabled', () => {
  test('names a script of a template that does not ask for scripts', async () => {
    const html = '<p>x</p>\n  <script>document.write("y")</script>'
    expect(await linesOf(html)).toEqual([
      'javascript_disabled template.html:3:3: the document has a script, and its template does not say javascriptEnabled: true: no script ran',
    ])
  })

  test.for<[string, string, WorkParts?]>([
    ['data for readers', '<script type="application/ld+json">{}</script>'],
    ['a comment', '<!-- <script>1</script> -->x'],
    ['a script of the data', '{{ x | raw }}', { data: { x: '<script>1</script>' } }],
  ])('says nothing of %s', async ([, html, parts]) => {
    expect(await warningsOf(html, parts)).toEqual([])
  })
})

describe('nothing is said of', () => {
  const svg = (attributes: string) =>
    `<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' ${attributes}/>">`
  test.for<[string, string, WorkParts?]>([
    [
      'images that are shown',
      `<img src="asset:red.png"><img src="data:image/svg+xml;base64,${Buffer.from(anSvg(RED)).toString('base64')}">`,
      { assets: [anAsset('red.png', aSquare(RED))] },
    ],
    ['drawings without a size', svg('') + svg("viewBox='0 0 1 1'") + svg("width='100%'")],
    ['images without an address', '<img><img src=""><img src=" "><img src="{{ absent | default: "" }}">'],
    [
      'damaged images that are not shown',
      `<img hidden src="${DAMAGED}"><p style="display:none"><img src="${DAMAGED}">`,
    ],
    [
      'rules for nothing',
      '<style>.absent { background: url(a.png) } @font-face { font-family: Z; src: url(z.woff) }</style>x',
    ],
    [
      'references within the document',
      '<svg><defs><path id="a"/></defs><use href="#a"/></svg><p style="fill:url(#a)">url(a.png)',
    ],
    [
      'links and hints',
      '<a href="https://a.test/">a</a><a href="b.html">b</a><link rel="icon" href="icon.png"><link rel="prefetch" href="https://a.test/p">',
    ],
    ['videos and sounds', '<video src="https://a.test/v"></video><audio src="https://a.test/a"></audio>'],
    ['what is wide and clipped', '<div style="overflow:hidden"><p style="width:3000px">x</div>'],
    [
      'what is as wide as the page',
      '<style>@page { margin: 0 } body { margin: 0 }</style><div style="width:100vw">x</div><div style="width:210mm">y</div>',
    ],
    ['what is small or empty', '<style>@page { size: 28pt 28pt; margin: 0 } body { margin: 0 }</style>'],
    [
      'scripts that log',
      '<script>console.log("x"); console.warn("y"); addEventListener("error", () => 1)</script>x',
      SCRIPTED,
    ],
    [
      'errors that a script handles',
      '<script>try { absent() } catch {} Promise.reject(1).catch(() => 1); fetch("https://a.test/").catch(() => 1)</script>x',
      SCRIPTED,
    ],
  ])('%s', async ([, html, parts]) => {
    expect(await warningsOf(html, parts)).toEqual([])
  })

  test('a document that an element of its own names like a method', async () => {
    const names = [
      'images',
      'fonts',
      'baseURI',
      'styleSheets',
      'documentElement',
      'querySelectorAll',
      'createTreeWalker',
    ]
    const html = names.map((name) => `<img name="${name}"><form name="${name}"></form>`).join('')
    const rendering = await opened().engine.render(aWork(`<!doctype html>${html}<p style="width:900px">x`), NEVER)
    expect([textOf(rendering.pdf), rendering.warnings.map(({ code }) => code)]).toEqual(['x', ['page_shrunk']])
  })
})
