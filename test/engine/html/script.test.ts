import { describe, expect, test } from 'vitest'
import { anAsset, aSquare, BLUE, RED } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork, browsersOf, colourAt, infoOf, textOf, type WorkParts } from './html-fixture.ts'

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

test('frames may not ask for assets without end', async () => {
  const assets = Array.from({ length: 60 }, (_, index) => anAsset(`${index}.png`, aSquare([0, 0, index])))
  const frame = `<iframe srcdoc="${assets.map(({ name }) => `<img src=asset:${name}>`).join('')}"></iframe>`
  const message = 'the document requests assets more than 1000 times'
  await expect(opened().render(aWork(frame.repeat(20), { assets }))).rejects.toThrow(message)
})
