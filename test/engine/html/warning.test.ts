/** What html documents are warned of: what Chromium drops, breaks, swallows and shrinks without a word. And what is nothing to warn of. */
import type { Warning } from '@platen/contract/domain/warning.ts'
import { describe, expect, test } from 'vitest'
import { anAsset, anSvg, aSquare, RED } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork, isBlank, textOf, type WorkParts } from './html-fixture.ts'

const opened = shared(() => anEngine())

const SCRIPTED: WorkParts = { javascript: true, javascriptEnabled: true }
const DAMAGED = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA'

const anSvgUrl = () => `data:image/svg+xml;base64,${Buffer.from(anSvg(RED)).toString('base64')}`

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

  test.for<[string, string]>([
    ['an image', '<img src="URL">'],
    ['a background', '<p style="background: url(URL)">x'],
    ['a rule', '<style>p::before { content: url("URL") }</style><p>x'],
    ['a drawing', '<svg><image href="URL" width="9" height="9"/></svg>'],
    ['an object', '<object data="URL"></object>'],
    ['a button', '<input type="image" src="URL">'],
  ])('names an image that ends too early: %s', async ([, html]) => {
    const png = Buffer.from(aSquare(RED))
    const url = `data:image/png;base64,${png.subarray(0, png.length - 14).toString('base64')}`
    const message = 'an image of the document ends too early, so only its beginning is printed: data:image/png,…'
    expect(await warningsOf(html.replace('URL', '{{ url | raw }}'), { data: { url } })).toEqual([
      { code: 'file_damaged', message },
    ])
    const hidden = `<div style="display: none">${html.replace('URL', '{{ url | raw }}')}</div>`
    expect(await warningsOf(hidden, { data: { url } })).toEqual([])
  })

  test('names an image of the header that ends too early', async () => {
    const header = '<img src="{{ url | raw }}">'
    const data = { url: `data:image/gif;base64,${Buffer.from('GIF89a').toString('base64')}` }
    expect((await warningsOf('x', { header, data })).map(({ code }) => code)).toEqual(['file_damaged'])
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

describe('text_overflow', () => {
  const SMALL = '<style>@page { size: 100mm 100mm; margin: 10mm } body { margin: 0 } p { margin: 0 0 10px }</style>'
  const ROWS = '{% for i in (1..40) %}<p style="overflow: hidden">row {{ i }}</p>{% endfor %}'
  const LONG = 'a long text that does not fit into its box'
  const outside = (what: string) => `${what} outside of the page between its margins, so not printed there`
  test.for<[string, string, string]>([
    [
      'the shell of a web page',
      `<style>html, body { height: 100%; margin: 0; overflow: hidden } .app { height: 100vh; overflow: auto }</style><div class="app">${ROWS}</div>`,
      '“row 12” and 28 more are cut off by <div class="app">, which has overflow: auto',
    ],
    [
      'a low box',
      `<div style="height: 90px; overflow: scroll">${ROWS}</div>`,
      '“row 4” and 36 more are cut off by <div>, which has overflow: scroll',
    ],
    [
      'a box of one line',
      `<div style="width: 80px; overflow: hidden; white-space: nowrap">${LONG}</div>`,
      `“${LONG.slice(0, 40)}” is cut off by <div>, which has overflow: hidden`,
    ],
    [
      'a box from right to left',
      `<div dir="rtl" style="width: 80px; overflow: hidden; white-space: nowrap">${LONG}</div>`,
      `“${LONG.slice(0, 40)}” is cut off by <div>, which has overflow: hidden`,
    ],
    [
      'a cell',
      `<table style="table-layout: fixed; width: 80px"><tr><td style="overflow: clip; white-space: nowrap">${LONG}</td></tr></table>`,
      `“${LONG.slice(0, 40)}” is cut off by <td>, which has overflow: clip`,
    ],
    [
      'a contained box',
      `<div style="contain: paint; height: 9px; width: 90px">${LONG}</div>`,
      `“${LONG.slice(0, 40)}” is cut off by <div>, which has contain: paint`,
    ],
    [
      'an image',
      `<div style="width: 90px; height: 20px; overflow: hidden">x<img alt="seal" style="display: block; margin-top: 99px" src="${anSvgUrl()}"></div>`,
      '<img alt="seal"> is cut off by <div>, which has overflow: hidden',
    ],
    ['what is left of the page', '<div style="position: absolute; left: -9mm">x</div>y', outside('“x” is')],
    ['what is above the page', '<div style="position: absolute; top: -9mm">x</div>y', outside('“x” is')],
    [
      'a mark without a text',
      '<div class="fold" style="position: absolute; left: -8mm; width: 5mm; border-top: 1px solid"></div>y',
      outside('<div class="fold"> is'),
    ],
    [
      'what is moved there',
      '<div style="margin-left: -30mm">x</div><div style="transform: translateX(-20mm)">y</div>',
      outside('“x” is'),
    ],
    ['what is fixed beside the page', '<div style="position: fixed; right: -15mm">x</div>y', outside('“x” is')],
    [
      'what is fixed below the page',
      '<div class="foot" style="position: fixed; bottom: -8mm">x</div>y',
      outside('“x” is'),
    ],
    [
      'a fixed box that is higher than the page',
      `<div style="position: fixed; top: 0">${ROWS}</div>`,
      outside('“row 12” and 28 more are'),
    ],
    [
      'a line from right to left',
      `<div dir="rtl" style="white-space: nowrap">${LONG} ${LONG}</div>`,
      outside(`“${LONG.slice(0, 40)}” is`),
    ],
    [
      'a table from right to left',
      `<div dir="rtl"><table><tr>${'<td>unbreakable</td>'.repeat(9)}</tr></table></div>`,
      outside('“unbreakable” and 5 more are'),
    ],
    ['a form', `<textarea style="height: 20px">one\ntwo\nthree</textarea>`, '“one two three” is cut off by <textarea>'],
    [
      'a frame',
      `<iframe srcdoc="<p>one<p>two<p>three<p>four<p>five<p>six"></iframe>`,
      'the end of “onetwothreefourfivesix” is cut off by <iframe>',
    ],
    ['a drawing', '<svg width="50" height="20"><text x="40" y="15">Total</text></svg>', '“Total” is cut off by <svg>'],
  ])('names %s', async ([, html, message]) => {
    const [first] = (await warningsOf(SMALL + html)).filter(({ code }) => code === 'text_overflow')
    expect(first).toEqual({ code: 'text_overflow', message })
  })

  const hidden = 'position: absolute; width: 1px; height: 1px; overflow: hidden'
  test.for<[string, string]>([
    [
      'an ellipsis',
      `<div style="width: 80px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis">${LONG}</div>`,
    ],
    [
      'a number of lines',
      `<div style="width: 80px; overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2">${LONG}</div>`,
    ],
    [
      'text for those who listen',
      `<span style="${hidden}; clip: rect(0, 0, 0, 0)">${LONG}</span><span style="position: absolute; left: -9999px">${LONG}</span><span style="position: absolute; clip-path: inset(50%); width: 20px; height: 20px; overflow: hidden">${LONG}</span>`,
    ],
    [
      'text in place of an image',
      `<a style="display: block; width: 50px; height: 50px; text-indent: -9999px; overflow: hidden">${LONG}</a><a style="display: block; width: 50px; height: 50px; text-indent: 100%; white-space: nowrap; overflow: hidden">${LONG}</a>`,
    ],
    [
      'what is hidden',
      `<div style="display: none; ${hidden}">${LONG}</div><div style="visibility: hidden; overflow: hidden; height: 9px; width: 40px">${LONG}</div><div style="opacity: 0; overflow: hidden; height: 9px; width: 40px">${LONG}</div><div style="height: 0; overflow: hidden">${LONG}</div><div style="color: transparent; overflow: hidden; height: 9px; width: 40px">${LONG}</div>`,
    ],
    [
      'close lines',
      '<h1 style="line-height: 0.9; overflow: hidden">Ågypq</h1><div style="height: 1.1em; overflow: hidden">one line</div><div style="overflow: hidden; width: min-content; white-space: nowrap">fits exactly</div>',
    ],
    [
      'decoration',
      `<div style="overflow: hidden; width: 50px; height: 50px"><div style="width: 500px; height: 500px; background: red"></div></div><div style="overflow: hidden; width: 50px; height: 50px"><img style="width: 90px" src="${anSvgUrl()}"></div>`,
    ],
    [
      'a box that grows',
      `<div style="overflow: auto">${ROWS}</div><div style="overflow: hidden"><span style="float: left">${LONG}</span></div>`,
    ],
    [
      'what is placed out of its box',
      '<div style="overflow: hidden; height: 30px">x<div style="position: absolute; top: 60mm">y</div></div>',
    ],
    [
      'corners and feet',
      '<div style="position: absolute; right: 0; bottom: 0">x</div><div style="position: fixed; bottom: 0">y</div><h1 style="margin-top: -3px">z</h1>',
    ],
    [
      'a stamp',
      '<div style="position: fixed; top: 50%; left: 50%; transform: translate(-50%, -50%) rotate(-45deg); opacity: .2">DRAFT</div>',
    ],
    [
      'a form that fits',
      '<textarea>short</textarea><input value="short"><input type="checkbox"><select><option>One</select><button>OK</button>',
    ],
    ['a drawing that fits', '<svg width="100" height="20"><text y="15">fits</text></svg>'],
  ])('says nothing of %s', async ([, html]) => {
    expect(await warningsOf(SMALL + html)).toEqual([])
  })

  test('bounds what it looks at and tells', async () => {
    const data = { long: 'x'.repeat(3000) }
    const html = `<div style="width:40px;overflow:hidden">{{ long }}</div>{% for i in (1..3000) %}<div class="{{ i }}" style="width:9px;overflow:hidden">unbreakable</div>{% endfor %}`
    const warnings = await warningsOf(html, { data })
    expect(warnings).toHaveLength(10)
    for (const { message } of warnings) expect(message.length).toBeLessThan(200)
  })

  test('leaves the document as it was', async () => {
    const html = '<html style="color: red"><body><p style="position: absolute; left: -5mm">x</p>'
    const [first, second] = [await warningsOf(html), await warningsOf(html)]
    expect([first.length, second]).toEqual([1, first])
  })
})

describe('image_absent', () => {
  test.for<[string, string, string]>([
    ['null', '{{ logo }}', '2:36'],
    ['an empty text', '{{ empty }}', '2:36'],
    ['no attribute value', '', '2:36'],
  ])('names an image whose address is %s, and draws nothing', async ([, src, at]) => {
    const html = `<style>@page { margin: 0 }</style> <img class="logo" src="${src}" width="80" height="40" alt="Acme">`
    const { pdf, warnings } = await opened().engine.render(
      aWork(`<!doctype html>\n${html}`, { data: { logo: null, empty: '' } }),
      NEVER,
    )
    expect(warnings).toEqual([
      {
        code: 'image_absent',
        place: `template.html:${at}`,
        message:
          'the image <img class="logo" alt="Acme"> has no address, so nothing is drawn; ask for its value first, as in {% if logo %}',
      },
    ])
    expect([textOf(pdf), isBlank(pdf)]).toEqual(['', true])
  })

  test.for<[string, string, string]>([
    ['a picture', '<picture><source srcset=""><img alt="x"></picture>', '<img alt="x">'],
    ['a button', '<input type="image" src="">', '<input>'],
    ['a drawing', '<svg><image href="" width="9" height="9"/></svg>', '<image>'],
  ])('names that of %s', async ([, html, name]) => {
    expect((await linesOf(html)).map((line) => line.replace(/ -?\S* the image/, ' the image'))).toEqual([
      expect.stringContaining(`image_absent the image ${name} has no address`),
    ])
  })

  test('names a style whose image has no address', async () => {
    expect(await linesOf(`<p style="background: url('{{ logo }}')">x`, { data: { logo: '' } })).toEqual([
      "image_absent -: a style names an image without an address: url('')",
    ])
  })
})

describe('link_broken', () => {
  test.for<[string, string, string]>([
    ['a path', '/orders/7', '/orders/7 is not a whole address, such as https://example.com/'],
    [
      'an address without its scheme',
      '//acme.example/x',
      '//acme.example/x is not a whole address, such as https://example.com/',
    ],
    ['a host', 'www.acme.example', 'www.acme.example is not a whole address, such as https://example.com/'],
    ['a place that is not there', '#missing', 'no element has the id missing'],
    ['nothing', '', 'it has no address'],
    ['a placeholder', '#', 'it has no address'],
    ['a script', 'javascript:void(0)', 'a reader of a PDF cannot follow javascript:'],
    ['a file', 'file:///tmp/a', 'a reader of a PDF cannot follow file:'],
  ])('names a link to %s', async ([, href, why]) => {
    const [line] = await linesOf(`<p>x <a href="${href}">order</a>`)
    const place = href === '' ? '-' : 'template.html:2:15'
    expect(line).toBe(`link_broken ${place}: the link <a> “order” leads nowhere: ${why}`)
  })

  test('says nothing of links that lead somewhere', async () => {
    const html = `<h1 id="ä b">x</h1><a name="old"></a><a href="#%C3%A4%20b">a</a><a href="#old">b</a><a href="#top">c</a>
      <a href="ftp://a.test/x">d</a><a href="{{ url }}">e</a><a href="sip:a@b.test">f</a>`
    expect(await warningsOf(html, { data: { url: 'HTTPS://a.test/?a=1&b=2' } })).toEqual([])
    expect(await warningsOf('<base href="https://a.test/"><a href="b">x</a>')).toEqual([])
  })
})

describe('style_ignored', () => {
  test.for<[string, string]>([
    [
      'a counter of its own',
      '<style>body { counter-reset: page } p { counter-increment: page } p::before { content: counter(page) }</style><p>x',
    ],
    ['a comment', '<style>/* float: footnote; counter(page) */</style>x'],
    ['a text', '<p>float: footnote, counter(page) and break-before: right'],
    ['other breaks', '<style>h1 { break-before: page; break-after: avoid }</style><h1>x</h1>'],
  ])('says nothing of %s', async ([, html]) => {
    expect(await warningsOf(html)).toEqual([])
  })
})

describe('variable_absent', () => {
  test('names what a script made of a missing value', async () => {
    const html = `<p id="a"></p><p id="b"></p><p id="c">undefined</p><script>
      a.textContent = 'Dear ' + {}.name; b.textContent = 'Sum: ' + {}; document.title = 'NaN'</script>`
    expect(await linesOf(html, SCRIPTED)).toEqual([
      'variable_absent -: undefined is printed in “Dear undefined”',
      'variable_absent -: [object Object] is printed in “Sum: [object Object]”',
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
    [
      'images without an address that are not shown, or have another',
      `<img hidden src=""><p style="display:none"><img></p><picture><source srcset="asset:red.png"><img></picture>`,
      { assets: [anAsset('red.png', aSquare(RED))] },
    ],
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
      '<a href="https://a.test/">a</a><a href="mailto:a@b.test">b</a><a href="tel:+49">c</a><a>d</a><a href="b.html"></a><link rel="icon" href="icon.png"><link rel="prefetch" href="https://a.test/p">',
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
    expect([textOf(rendering.pdf), rendering.warnings.map(({ code }) => code)]).toEqual([
      'x',
      ['image_absent', 'page_shrunk'],
    ])
  })
})
