import { readFileSync } from 'node:fs'
import type { Asset } from '@platen/contract/domain/tenant.ts'
import { LOAD_MS_MAX } from '@platen/renderer/browser/document/load.ts'
import { assetFaults } from '@platen/renderer/template/asset/asset.ts'
import { describe, expect, test } from 'vitest'
import { anAsset, aSquare, BLUE, RED } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import {
  anEngine,
  aWork,
  barsAt,
  browsersOf,
  colourAt,
  fontsOf,
  infoOf,
  sizeOf,
  textOf,
  type WorkParts,
} from './html-fixture.ts'

const SCRIPTED: WorkParts = { javascript: true, javascriptEnabled: true }
/** A document whose scripts run. The source is raw, as Liquid has signs in common with JavaScript. */
const scripted = (html: string, parts?: WorkParts) =>
  aWork('<!doctype html><body>{{ html | raw }}', { ...SCRIPTED, data: { html }, ...parts })
const render = (html: string, parts?: WorkParts) => opened().render(scripted(html, parts))

const opened = shared(() => anEngine())

const SQUARE = 'position: absolute; left: 0; top: 0; width: 200px; height: 200px'

describe('a script', () => {
  test.for([
    ['when it stands', `document.body.append('done')`],
    ['when the document has loaded', `addEventListener('load', () => document.body.append('done'))`],
    ['when the fonts are there', `document.fonts.ready.then(() => document.body.append('done'))`],
    ['in the next frame', `addEventListener('load', () => requestAnimationFrame(() => document.body.append('done')))`],
    ['as a module', `</script><script type="module">document.body.append('done')`],
    ['written by a script', `document.write('<script>document.write("done")<\\/script>')`],
  ])('has done its work in the PDF %s', async ([, script]) => {
    expect(textOf(await render(`<script>${script}</script>`))).toBe('done')
  })

  test('draws on a canvas, and with the assets of the template', async () => {
    const html = `<style>@page { margin: 0 } body { margin: 0 }</style><canvas id="chart" width="200" height="200" style="${SQUARE}"></canvas><script>
      const context = chart.getContext('2d')
      context.fillStyle = 'rgb(0 0 255)'
      context.fillRect(0, 0, 100, 200)
      const image = new Image()
      image.onload = () => context.drawImage(image, 100, 0, 100, 200)
      image.src = 'asset:red.png'
      document.body.append(image)
    </script>`
    const pdf = await render(html, { assets: [anAsset('red.png', aSquare(RED))] })
    expect([colourAt(pdf, 30, 30), colourAt(pdf, 110, 30)]).toEqual([BLUE, RED])
  })

  test('writes for the locale of the template, and in the time zone of the options', async () => {
    const html = `<script>document.body.append((1234.5).toLocaleString(), ' ', new Date(0).getHours())</script>`
    expect(textOf(await render(html))).toBe('1,234.5 0')
    const parts: WorkParts = { template: { locale: 'de-DE' }, options: { time_zone: 'Asia/Tokyo' } }
    expect(textOf(await render(html, parts))).toBe('1.234,5 9')
  })

  test('reads data that are printed by json, whatever they are', async () => {
    const names = [
      '</script><b>x',
      '<!--<script>',
      `"'\`\\`,
      '\u2028\u2029',
      ']]>',
      '\ud800',
      '&lt;',
      '${1}',
      '-->\n\r\0',
    ]
    const template = `<!doctype html><body data-names="{{ names | json }}"><script>const names = {{ names | json }}</script>
      <script type="application/json" id="island">{{ names | json | raw }}</script>{% assign kept = names | json %}
      <script>
        const read = [names, JSON.parse(document.body.dataset.names), JSON.parse(island.textContent), {{ kept }}]
        document.body.append(read.map((each) => encodeURIComponent(JSON.stringify(each)).length).join(' '), ' ', {{ names | json }}.length)
        for (const each of read) document.body.append(' ', JSON.stringify(each) === JSON.stringify(names))
        // The engine's own style element is not of the document.
        document.body.append(' ', document.querySelectorAll(':not(style)').length)
      </script>`
    const { pdf, warnings } = await opened().engine.render(aWork(template, { ...SCRIPTED, data: { names } }), NEVER)
    const length = encodeURIComponent(JSON.stringify(names)).length
    const expected = `${[length, length, length, length].join(' ')} ${names.length} true true true true 6`
    expect([textOf(pdf), warnings]).toEqual([expected, []])
  })

  test('finds no element and no attribute that came from data, whatever filters printed them', async () => {
    const x = `<img src=x onerror=a> "><svg/onload=a>' onclick='a &lt;i&gt;\n</p><script>a</script><!--\n<b`
    const filters = [
      'escape',
      'newline_to_br',
      'strip_html',
      'escape_once',
      'upcase',
      'truncate: 30',
      'append: "<br>"',
      'json',
    ]
    const chains = filters.flatMap((first) =>
      filters.flatMap((then) => [`x | ${first} | ${then}`, `c | ${first} | ${then}`]),
    )
    const printed = chains.map((chain) => `<p title="{{ ${chain} }}">{{ ${chain} }}</p>`)
    const template = `<!doctype html>{% capture c %}<i>{{ x }}</i>{{ x | newline_to_br }}{% endcapture %}<body>${printed.join('')}<script>
      const found = new Set()
      for (const element of document.body.querySelectorAll('*'))
        found.add([element.localName, ...element.getAttributeNames()].join('.'))
      document.body.textContent = Array.from(found).sort().join(' ')
    </script>`
    expect(textOf(await opened().render(aWork(template, { ...SCRIPTED, data: { x } })))).toBe('br i p.title script')
  })

  test('gives the document its title and metadata', async () => {
    const html = `<script>document.title = 'By script'; document.head.innerHTML += '<meta name="author" content="Ada">'</script>x`
    const pdf = await render(html)
    expect([infoOf(pdf, 'Title'), infoOf(pdf, 'Author')]).toEqual(['By script', 'Ada'])
  })

  test.for<[string, WorkParts, readonly string[]]>([
    ['the template does not ask for it', { javascript: false, javascriptEnabled: true }, []],
    ['the plan does not allow it', { javascript: true, javascriptEnabled: false }, ['javascript_disabled']],
    ['neither wants it', { javascript: false, javascriptEnabled: false }, []],
  ])('does not run where %s', async ([, parts, codes]) => {
    const rendering = await opened().engine.render(
      scripted('static<script>document.write("RAN")</script>', parts),
      NEVER,
    )
    expect([textOf(rendering.pdf), rendering.warnings.map(({ code }) => code)]).toEqual(['static', codes])
    expect(rendering.phases.map(({ name }) => name)).toEqual(['evaluate', 'layout', 'print'])
    for (const { durationMs } of rendering.phases) expect(durationMs).toBeGreaterThan(0)
  })

  test('cannot change what the service asks of the page', async () => {
    const html = `<meta name="author" content="Ada"><script>
      for (const name of ['querySelector', 'querySelectorAll']) Document.prototype[name] = () => { throw new Error('gone') }
      JSON.stringify = () => '{"author":"Eve"}'
      Array.from = Promise.prototype.then = undefined
      window.requestAnimationFrame = () => {}
      Object.defineProperty(document, 'fonts', { get() { throw new Error('gone') } })
    </script>x`
    expect(infoOf(await render(html), 'Author')).toBe('Ada')
  })

  test.for([
    ['a document without a root', 'document.documentElement.remove()', ''],
    [
      'a root of another kind',
      `document.documentElement.replaceWith(Object.assign(document.createElement('form'), { innerHTML: '<input name=prepend>on' }))`,
      'on',
    ],
    ['a document written anew', `setTimeout(() => { document.open(); document.write('on'); document.close() })`, 'on'],
  ])('may leave %s', async ([, script = '', text]) => {
    expect(textOf(await render(`<script>${script}</script>`))).toBe(text)
  })

  test.for([
    ['alert', `alert('x'); document.write('on')`],
    ['confirm', `document.write(confirm('x') ? 'yes' : 'on')`],
    ['prompt', `document.write(prompt('x') ?? 'on')`],
    ['print', `print(); document.write('on')`],
    ['debugger', `debugger; document.write('on')`],
    ['beforeunload', `onbeforeunload = (event) => { event.preventDefault(); for (;;); }; document.write('on')`],
    ['a fragment', `location.hash = '#x'; document.write('on')`],
    ['window.open', `document.write(open('about:blank') === null ? 'on' : 'opened')`],
  ])('is not held up by %s', async ([, script]) => {
    expect(textOf(await render(`<script>${script}</script>`))).toBe('on')
  })

  test.for([
    ['location', `location = 'http://127.0.0.1/'`, 'navigated away'],
    [
      'location after a time',
      `setTimeout(() => location.href = 'about:blank'); for (let i = 0; i < 1e7; i += 1);`,
      'navigated away',
    ],
    ['reload', 'location.reload()', 'navigated away'],
    [
      'a document of its own',
      `location = URL.createObjectURL(new Blob(['other'], { type: 'text/html' }))`,
      'navigated away',
    ],
    [
      'a form',
      `document.body.append(Object.assign(document.createElement('form'), { action: 'about:blank' })); document.forms[0].submit()`,
      'navigated away',
    ],
    ['close', 'close()', 'closed the page'],
    ['close at the end', `addEventListener('load', () => requestAnimationFrame(() => close()))`, 'closed the page'],
    ['dialogs without end', 'for (;;) alert(1)', 'opened more than 20 dialogs'],
  ])('fails the document by %s', async ([, script, message]) => {
    const failed = expect.objectContaining({
      code: 'template_error',
      message: expect.stringContaining(`the page’s JavaScript ${message}`),
    })
    await expect(render(`<script>${script}</script>still here`)).rejects.toEqual(failed)
  })

  test('ends with its page when it takes too much memory, and no other', async () => {
    const greedy = '<script>const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))</script>'
    const [lost, other] = await Promise.allSettled([
      render(greedy),
      opened().render(aWork('other', { tenant: 'other' })),
    ])
    expect(lost).toMatchObject({ reason: { code: 'template_error', message: expect.stringContaining('3072 MiB') } })
    expect(other.status === 'fulfilled' && textOf(other.value)).toBe('other')
  })

  test.for([
    ['a loop', '<script>for (;;);</script>'],
    ['promises', '<script>(function next() { Promise.resolve().then(next) })()</script>'],
    ['an open dialog in a loop', '<script>for (;;) print()</script>'],
    ['a loop in a frame', `<iframe srcdoc="<script>for (;;);</script>"></iframe>`],
  ])('that goes on for ever (%s) ends at its deadline, and nobody else with it', async ([, html = '']) => {
    const [browser] = browsersOf(opened().profileDir)
    const controller = new AbortController()
    const endless = opened().render(scripted(html), controller.signal)
    endless.catch(() => undefined)
    const others = Array.from({ length: 5 }, (_, index) => opened().render(aWork(`<p>${index}`, { tenant: 'other' })))
    expect((await Promise.all(others)).map(textOf)).toEqual(['0', '1', '2', '3', '4'])
    controller.abort(new Error('deadline'))
    await expect(endless).rejects.toThrow('deadline')
    const next = await Promise.all([render('next<script></script>'), opened().render(aWork('next'))])
    expect(next.map(textOf)).toEqual(['next', 'next'])
    expect(browsersOf(opened().profileDir).map(({ pid }) => pid)).toEqual([browser?.pid])
  })
})

describe('a script that is an asset', () => {
  const code = (name: string, text: string) => anAsset(name, Buffer.from(text))
  const append = (name: string, text = name) => code(name, `document.body.append('${text} ')`)

  test.for<[string, string, Asset[]]>([
    ['by its element', '<script src="asset:a.js"></script>', [append('a.js')]],
    ['by an element of many lines', `<script\n  defer\n  src='asset:a.js'></script>`, [append('a.js')]],
    ['by entities', '<script src="&#97;sset:a.js"></script>', [append('a.js')]],
    [
      'by another script',
      '<script>document.body.append(Object.assign(document.createElement("script"), { src: "asset:a.js" }))</script>',
      [append('a.js')],
    ],
    ['as a module', '<script type="module" src="asset:a.js"></script>', [append('a.js')]],
    ['by a module of the document', '<script type="module">import "asset:a.js"</script>', [append('a.js')]],
    ['by a module, later', '<script type="module">platen.ready(import("asset:a.js"))</script>', [append('a.js')]],
    [
      'by a module that is an asset',
      '<script type="module" src="asset:b.mjs"></script>',
      [code('b.mjs', 'import "asset:a.js"'), append('a.js')],
    ],
    [
      'beside a module that is an asset',
      '<script type="module" src="asset:b.mjs"></script>',
      [code('b.mjs', 'import "./a.js"'), append('a.js')],
    ],
  ])('runs when it is named %s', async ([, html, assets]) => {
    const { pdf, warnings } = await opened().engine.render(scripted(html, { assets }), NEVER)
    expect([textOf(pdf), warnings]).toEqual(['a.js', []])
  })

  test('says where it fails', async () => {
    const assets = [code('a.js', '1\n  absent()'), code('b.mjs', 'console.error("no")')]
    const html = '<script src="asset:a.js"></script><script type="module" src="asset:b.mjs"></script>'
    const { warnings } = await opened().engine.render(scripted(html, { assets }), NEVER)
    expect(warnings.map(({ place }) => place)).toEqual(['a.js:2:3', 'b.mjs:1:9'])
  })

  test.for(['asset:b.js', './b.js', 'b', 'https://cdn.test/b.js'])(
    'is missed in a module that imports %s',
    async (name) => {
      const html = `on<script type="module">import '${name}'</script>`
      const { pdf, warnings } = await opened().engine.render(scripted(html, { assets: [append('a.js')] }), NEVER)
      const told = warnings.filter(({ code }) => code === 'script_error').map(({ message }) => message)
      expect([textOf(pdf), told]).toEqual(['on', [expect.stringMatching(/a module did not run|module specifier/)]])
    },
  )

  test('does not run where scripts do not', async () => {
    const assets = [append('a.js', 'RAN')]
    expect(textOf(await render('<script src="asset:a.js"></script>on', { assets, javascript: false }))).toBe('on')
  })

  test.for<[string, string, string]>([
    ['names none', '<script src="asset:b.js"></script>', 'template has no asset b.js (did you mean a.js?)'],
    ['runs an image', '<script src="asset:red.png"></script>', 'the asset red.png is not a script'],
    ['shows it', '<img src="asset:a.js">', 'the asset a.js is not an image or a font'],
  ])('fails a document that %s', async ([, html, message]) => {
    const assets = [append('a.js'), anAsset('red.png', aSquare(RED))]
    const failed = expect.objectContaining({ code: 'asset_unavailable', message: expect.stringContaining(message) })
    await expect(render(html, { assets })).rejects.toEqual(failed)
  })
})

describe('a library that is an asset', () => {
  const library = (name: string, file: string) =>
    anAsset(name, readFileSync(new URL(`../../../node_modules/${file}`, import.meta.url)))
  const page = '<style>@page { margin: 0; size: 200pt 200pt } body { margin: 0 }</style>'
  const run = async (html: string, ...assets: Asset[]) => {
    expect(await assetFaults(scripted('').template, assets)).toEqual([])
    const { pdf, warnings } = await opened().engine.render(scripted(page + html, { assets }), NEVER)
    expect(warnings).toEqual([])
    return pdf
  }

  test('Chart.js draws its bars', async () => {
    const pdf = await run(
      `<script src="asset:chart.js"></script><div style="width: 200px; height: 200px"><canvas id="c"></canvas></div><script>
        new Chart(c, {
          type: 'bar',
          data: { labels: ['a'], datasets: [{ data: [1], backgroundColor: 'rgb(0 0 255)', barPercentage: 1, categoryPercentage: 1 }] },
          options: { animation: false, maintainAspectRatio: false, plugins: { legend: { display: false } }, scales: { x: { display: false }, y: { display: false } } },
        })
      </script>`,
      library('chart.js', 'chart.js/dist/chart.umd.min.js'),
    )
    expect([colourAt(pdf, 20, 20), colourAt(pdf, 140, 140), colourAt(pdf, 190, 190)]).toEqual([
      BLUE,
      BLUE,
      [255, 255, 255],
    ])
  })

  test('KaTeX sets a formula in its own font', async () => {
    const pdf = await run(
      `<style>@font-face { font-family: KaTeX_Main; src: url(asset:main.woff2) }</style>
       <script src="asset:katex.js"></script><p id="p" style="font-family: KaTeX_Main"></p><script>
        katex.render('\\\\frac{12}{34}', p, { output: 'html' })
        platen.ready(document.fonts.load('1em KaTeX_Main'))
      </script>`,
      library('katex.js', 'katex/dist/katex.min.js'),
      library('main.woff2', 'katex/dist/fonts/KaTeX_Main-Regular.woff2'),
    )
    expect(fontsOf(pdf)).toContain('KaTeX_Main-Regular')
    expect(textOf(pdf)).toMatch(/34.*12|12.*34/)
  })

  test('bwip-js draws a code, in its second million of bytes as in its first', async () => {
    const pdf = await run(
      `<script src="asset:bwip.js"></script><canvas id="c"></canvas><script>
        bwipjs.toCanvas(c, { bcid: 'ean13', text: '9520123456788', scale: 2, height: 20 })
      </script>`,
      library('bwip.js', 'bwip-js/dist/bwip-js-min.js'),
    )
    // An EAN-13 has 30 bars, of 1 to 4 modules.
    expect(barsAt(pdf, 20)).toHaveLength(30)
  })
})

describe('platen.ready', () => {
  const later = (text: string) =>
    `new Promise((resolve) => setTimeout(() => { document.body.append('${text}'); resolve() }, 200))`

  test('is waited for, with what is added meanwhile', async () => {
    const script = `platen.ready(${later('one ')}.then(() => platen.ready(${later('two')})))`
    expect(textOf(await render(`<script>${script}</script>`))).toBe('one two')
  })

  test('is waited for longer than the load of a document without files may take', async () => {
    const script = `platen.ready(new Promise((resolve) => setTimeout(() => { document.body.append('late'); resolve() }, ${LOAD_MS_MAX + 500})))`
    const pdf = await render(`<script>${script}</script>`, { options: { page_size: 'A6' } })
    expect([textOf(pdf), sizeOf(pdf)]).toEqual(['late', '298x420'])
  })

  test('lets images be there that were added meanwhile', async () => {
    const html = `<style>@page { margin: 0 } body { margin: 0 }</style><script>
      platen.ready((async () => {
        await new Promise((resolve) => setTimeout(resolve, 200))
        document.body.innerHTML = '<img src="asset:red.png" style="${SQUARE}">'
      })())
    </script>`
    const pdf = await render(html, { assets: [anAsset('red.png', aSquare(RED))] })
    expect(colourAt(pdf, 30, 30)).toEqual(RED)
  })

  test.for([
    ['a rejection', 'Promise.reject(new Error("no"))', 'Error: no'],
    ['an object that throws', '{ then() { throw new TypeError("no") } }', 'TypeError: no'],
    ['an object that fails to be one', '{ get then() { throw "no" } }', 'no'],
  ])('warns of %s, and the document is printed', async ([, promise, told]) => {
    const html = `<script>platen.ready(${promise}); document.write('on')</script>`
    const { pdf, warnings } = await opened().engine.render(scripted(html), NEVER)
    const message = expect.stringContaining(`platen.ready: rejected: ${told}`)
    expect([textOf(pdf), warnings]).toEqual(['on', [expect.objectContaining({ code: 'script_error', message })]])
  })

  test.for([
    ['a value', 'platen.ready(1); platen.ready()'],
    ['thousands of calls', 'for (let i = 0; i < 1e5; i += 1) platen.ready(Promise.resolve())'],
    [
      'globals that are gone',
      `platen.ready(${later(' late')}); Promise = Reflect = Symbol = Object = undefined; String.prototype.slice = null; delete platen; delete __platen; globalThis = __platen = {}`,
      'on late',
    ],
    [
      'its own state, which cannot be declared again',
      `platen.ready(${later(' late')})</script><script>let __platen = {}`,
      'on late',
      1,
    ],
    ['another platen', 'globalThis.platen = { ready() { throw 1 } }'],
  ] as const)('is not confused by %s', async ([, script, text = 'on', errors = 0]) => {
    const { pdf, warnings } = await opened().engine.render(scripted(`on<script>${script}</script>`), NEVER)
    expect([textOf(pdf), warnings.length]).toEqual([text, errors])
  })

  test.for([
    ['a promise', 'platen.ready(new Promise(() => {}))'],
    ['an object that never calls back', 'platen.ready({ then() {} })'],
    [
      'always another promise',
      '(function next() { platen.ready(new Promise((resolve) => setTimeout(() => { next(); resolve() }))) })()',
    ],
    ['itself', 'const self = (async () => { await null; await self })(); platen.ready(self)'],
  ])('ends at the deadline if it waits for ever for %s', async ([, script]) => {
    const deadline = new AbortController()
    const waiting = opened().render(scripted(`<script>${script}</script>`), deadline.signal)
    waiting.catch(() => undefined)
    // Another document takes as long as this one would, if it did not wait.
    await render('<script>1</script>other')
    deadline.abort(new Error('deadline'))
    await expect(waiting).rejects.toThrow('deadline')
  })

  test('is not there where scripts do not run', async () => {
    const html = `<script>document.write(typeof platen)</script>static`
    expect(textOf(await render(html, { javascript: false }))).toBe('static')
  })
})

test('what scripts throw and log does not reach this process in full', async () => {
  const script = `const long = 'x'.repeat(1e8)
    console.log(long); console.error(long); console.table([long]); Promise.reject(long); throw new Error(long)`
  const { warnings } = await opened().engine.render(scripted(`<script>${script}</script>`), NEVER)
  expect(warnings.map(({ message }) => message.slice(0, 25))).toEqual([
    'console.error: xxxxxxxxxx',
    'Uncaught Error: xxxxxxxxx',
    'unhandled rejection: xxxx',
  ])
  for (const { message } of warnings) expect(message.length).toBeLessThan(700)
})

test('frames may not ask for assets without end', async () => {
  const assets = Array.from({ length: 60 }, (_, index) => anAsset(`${index}.png`, aSquare([0, 0, index])))
  const frame = `<iframe srcdoc="${assets.map(({ name }) => `<img src=asset:${name}>`).join('')}"></iframe>`
  const message = 'the document requests assets more than 1000 times'
  await expect(opened().render(aWork(frame.repeat(20), { assets }))).rejects.toThrow(message)
})
