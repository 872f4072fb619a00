/** What html templates fetch from the hosts they list, and what they do not. Chromium itself is never seen on the network. */
import type { RequestListener } from 'node:http'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { EGRESS_CACHE_MS } from '@platen/renderer/engine/limit.ts'
import { openRemoteFiles } from '@platen/renderer/engine/remote-files.ts'
import { EGRESS_RENDER_BYTES_MAX } from '@platen/renderer/limit.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aDejaVuFont, anSvg, aPng, aSquare, BLUE, RED, RED_GIF, RED_WEBP } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { membersOf } from '../../soak/process-tree.ts'
import { aHost, giving, HOST, type TestHost } from '../../topology/host.ts'
import { imagesOf } from '../../topology/oracle.ts'
import { answering } from '../../topology/receiver.ts'
import { anEngine, aWork, browsersOf, colourAt, fontsOf, socketsOf, textOf, type WorkParts } from './html-fixture.ts'

let host: TestHost
/** Time that has passed without being waited for. */
let elapsedMs = 0
let opened: Awaited<ReturnType<typeof anEngine>>
beforeAll(async () => {
  const clock = { ...systemClock(), monotonic: () => performance.now() + elapsedMs }
  host = await aHost()
  opened = await anEngine({ remote: openRemoteFiles({ egress: httpEgress({ ...host.internet, clock }), clock }) })
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const ORIGIN = `https://${HOST}`
/** Each test has a tenant of its own, with an empty cache. */
let tenant = ''
let tenants = 0
beforeEach(() => {
  tenants += 1
  tenant = `tenant-${tenants}`
  host.asked.length = 0
  host.answer('/red.png', giving(aSquare(RED)))
  host.answer('/blue.png', giving(aSquare(BLUE)))
  host.answer('/mono.ttf', giving(aDejaVuFont('DejaVuSansMono')))
})
// Whatever a test does, all that comes to the host comes from the guarded client.
afterEach(() => {
  expect(host.asked.map(({ headers }) => headers['user-agent'])).toEqual(host.asked.map(() => 'Platen'))
})

const SQUARE = 'position: absolute; left: 0; top: 0; width: 200px; height: 200px'
const NO_MARGIN = '<!doctype html><style>@page { margin: 0 } body { margin: 0 }</style>'

/** A document of a template that lists the host, unless said otherwise. */
function aDocument(html: string, { allowedHosts = [HOST], ...parts }: WorkParts & { allowedHosts?: string[] } = {}) {
  return aWork(`{{ html | raw }}`, { tenant, data: { html: NO_MARGIN + html }, ...parts, template: { allowedHosts } })
}

const render = (html: string, parts?: Parameters<typeof aDocument>[1]) => opened.render(aDocument(html, parts))
const SCRIPTED: WorkParts = { javascript: true, javascriptEnabled: true }

test('names what is wrong with files of hosts, also when the page has them already', async () => {
  const css =
    '.fn { float: footnote } p::after { content: counter(page) } @page { @top-left { content: counter(page) } }'
  host.answer('/a.css', giving(css, 'text/css'))
  const png = Buffer.from(aSquare(RED))
  host.answer('/cut.png', giving(png.subarray(0, png.length - 14)))
  const html = `<link rel="stylesheet" href="${ORIGIN}/a.css"><img src="${ORIGIN}/cut.png"><p>x`
  const messages = [
    `style_ignored float: footnote: Chromium has no footnotes, so the text stands where it is written (${ORIGIN}/a.css)`,
    `style_ignored counter(page): Chromium counts pages only in the boxes of the margin, such as @page { @bottom-right { … } }, and prints 0 here (${ORIGIN}/a.css)`,
    `file_damaged an image of the document ends too early, so only its beginning is printed: ${ORIGIN}/cut.png`,
  ]
  for (const _ of ['first', 'again']) {
    const { warnings } = await opened.engine.render(aWork(html, { tenant, template: { allowedHosts: [HOST] } }), NEVER)
    expect(warnings.map(({ code, message }) => `${code} ${message}`).sort()).toEqual([...messages].sort())
  }
  const { warnings } = await opened.engine.render(aWork('x', { tenant, template: { allowedHosts: [HOST] } }), NEVER)
  expect(warnings).toEqual([])
})

describe('a file of a listed host', () => {
  test.for<[string, string]>([
    ['an image', `<img src="${ORIGIN}/red.png" style="${SQUARE}">`],
    ['an image over http', `<img src="http://${HOST}/red.png" style="${SQUARE}">`],
    ['an image by its srcset', `<img srcset="${ORIGIN}/red.png 1x, ${ORIGIN}/blue.png 9x" style="${SQUARE}">`],
    ['an image far below', `<img loading="lazy" src="${ORIGIN}/red.png" style="${SQUARE}">`],
    ['a background', `<p style="background: url(${ORIGIN}/red.png); ${SQUARE}">`],
    [
      'an image of a drawing',
      `<svg style="${SQUARE}"><image href="${ORIGIN}/red.png" width="200" height="200"/></svg>`,
    ],
    ['an image by a base', `<base href="${ORIGIN}/a/b"><img src="../red.png" style="${SQUARE}">`],
    ['an image asked for across origins', `<img crossorigin src="${ORIGIN}/red.png" style="${SQUARE}">`],
  ])('is shown as %s', async ([, html]) => {
    expect(colourAt(await render(html), 30, 30)).toEqual(RED)
    expect(host.asked).toHaveLength(1)
  })

  test.for<[string, Uint8Array]>([
    ['GIF', RED_GIF],
    ['WebP', RED_WEBP],
    ['SVG', anSvg(RED)],
  ])('is shown when it is a %s, whatever its host says', async ([kind, bytes]) => {
    host.answer(`/${kind}`, giving(bytes, 'text/html'))
    expect(colourAt(await render(`<img src="${ORIGIN}/${kind}" style="${SQUARE}">`), 30, 30)).toEqual(RED)
  })

  test('is a style sheet, with what that names beside it', async () => {
    host.answer(
      '/a/style.css',
      giving('@import "more.css"; @font-face { font-family: Far; src: url(../mono.ttf) }', 'text/css'),
    )
    host.answer(
      '/a/more.css',
      giving(`p { font-family: Far; background: url(/red.png); ${SQUARE} }`, 'text/css; charset=utf-8'),
    )
    const pdf = await render(`<link rel="stylesheet" href="${ORIGIN}/a/style.css"><p>far</p>`)
    expect([textOf(pdf), fontsOf(pdf), colourAt(pdf, 100, 100)]).toEqual(['far', ['DejaVuSansMono'], RED])
    const paths = host.asked.map(({ url }) => url.slice(ORIGIN.length)).sort()
    expect(paths).toEqual(['/a/more.css', '/a/style.css', '/mono.ttf', '/red.png'])
  })

  test('is a font of a rule of the document', async () => {
    const rule = `@font-face { font-family: Far; src: url(${ORIGIN}/mono.ttf) }`
    const pdf = await render(`<style>${rule}</style><p style="font-family: Far">far</p>`)
    expect([textOf(pdf), fontsOf(pdf)]).toEqual(['far', ['DejaVuSansMono']])
  })

  test.for<[string, number]>([
    ['header', 20],
    ['footer', 822],
  ])('is shown in the %s, at an address the data gives', async ([edge, y]) => {
    host.answer('/logo?of=a&in=b', giving(aSquare(RED)))
    const data = { html: '<!doctype html>x', logo: `${ORIGIN}/logo?of=a&in=b` }
    const image = '<img src="{{ logo }}" style="width: 100px; height: 20px">'
    expect(colourAt(await render('', { data, [edge]: image }), 60, y)).toEqual(RED)
  })

  test.for([
    ['slow to come', `<img src="${ORIGIN}/slow.png" style="${SQUARE}">`, {}],
    [
      'slow to come and far below',
      `<img loading="lazy" src="${ORIGIN}/slow.png" style="margin-top: 9000px; ${SQUARE}">`,
      SCRIPTED,
    ],
    [
      'shown by a script',
      `<body><script>document.body.innerHTML = '<img src="${ORIGIN}/slow.png" style="${SQUARE}">'</script>`,
      SCRIPTED,
    ],
  ] as const)('is waited for when it is %s', async ([, html, parts]) => {
    host.answer('/slow.png', (request, response) => {
      // After all that Chromium does without it.
      setTimeout(() => giving(aSquare(RED))(request, response), 300)
    })
    expect(await imagesOf(await render(html, parts))).toEqual([expect.stringContaining('8×8')])
  })

  test('is waited for when it is a font that a slow style sheet names', async () => {
    const slowly =
      (listener: RequestListener): RequestListener =>
      (request, response) => {
        setTimeout(() => listener(request, response), 300)
      }
    const css = 'p { font-family: Far } @font-face { font-family: Far; src: url(slow.ttf) }'
    host.answer('/slow.css', slowly(giving(css, 'text/css')))
    host.answer('/slow.ttf', slowly(giving(aDejaVuFont('DejaVuSansMono'))))
    const pdf = await render(`<title>x</title><link rel="stylesheet" href="${ORIGIN}/slow.css"><p>far</p>`)
    expect([textOf(pdf), fontsOf(pdf)]).toEqual(['far', ['DejaVuSansMono']])
  })

  test('is waited for no longer than the deadline of the render', async () => {
    const begun = Promise.withResolvers<void>()
    host.answer('/never.png', () => begun.resolve())
    const deadline = new AbortController()
    const rendering = opened.render(aDocument(`<img src="${ORIGIN}/never.png">`), deadline.signal)
    const result = rendering.catch((error: unknown) => error)
    await begun.promise
    deadline.abort(new Error('deadline'))
    expect(await result).toEqual(new Error('deadline'))
  })

  test.for([
    ['a script', `<script src="${ORIGIN}/a.js"></script>`],
    ['a script that another adds', `<script>document.write('<script src="${ORIGIN}/a.js"><\\/script>')</script>`],
    ['a module', `<script type="module" src="${ORIGIN}/a.js"></script>`],
    ['a module of a module', `<script type="module">import '${ORIGIN}/a.js'</script>`],
  ])('runs as %s where scripts run, and nowhere else', async ([, html]) => {
    host.answer('/a.js', giving('document.body.append("ran")', 'application/javascript; charset=utf-8'))
    const { pdf, warnings } = await opened.engine.render(aDocument(`<body>${html}`, SCRIPTED), NEVER)
    expect([textOf(pdf), warnings]).toEqual(['ran', []])
    expect(textOf(await render(`<body>on${html}`))).toBe('on')
    expect(host.asked).toHaveLength(1)
  })

  test('is a script whose errors the page is told only across origins', async () => {
    host.answer('/a.js?v=1', giving('1\n  absent()', 'text/javascript'))
    const warningsOf = async (attribute: string) => {
      const html = `<script ${attribute} src="${ORIGIN}/a.js?v=1"></script>`
      return (await opened.engine.render(aDocument(html, SCRIPTED), NEVER)).warnings.map(({ message }) => message)
    }
    expect(await warningsOf('')).toEqual([
      'an error in a script of another host; with the attribute crossorigin, its element says which',
    ])
    expect(await warningsOf('crossorigin')).toEqual([
      `Uncaught ReferenceError: absent is not defined (${ORIGIN}/a.js, line 2)`,
    ])
  })

  test('is drawn by a script on a canvas only if it was asked for across origins', async () => {
    const draw = (attribute: string) => `<body><script>
      const image = new Image()
      ${attribute}
      image.onload = () => {
        const context = document.createElement('canvas').getContext('2d')
        context.drawImage(image, 0, 0)
        try { document.body.append(context.getImageData(1, 1, 1, 1).data.join()) } catch { document.body.append('tainted') }
      }
      image.src = '${ORIGIN}/red.png'
      document.body.append(image)
    </script>`
    expect(textOf(await render(draw(''), SCRIPTED))).toBe('tainted')
    expect(textOf(await render(draw('image.crossOrigin = ""'), SCRIPTED))).toBe('255,0,0,255')
  })
})

describe('nothing is fetched', () => {
  test.for<[string, string]>([
    ['of a host that is not listed', `<img src="https://other.test/red.png">`],
    ['of a host below one that is', `<img src="https://a.${HOST}/red.png">`],
    ['of a host whose name ends with a dot', `<img src="https://${HOST}./red.png">`],
    ['as a frame', `<iframe src="${ORIGIN}/red.png"></iframe>`],
    ['as an object', `<object data="${ORIGIN}/red.png"></object><embed src="${ORIGIN}/red.png">`],
    ['as a video', `<video autoplay src="${ORIGIN}/red.png"></video>`],
    ['as a script of a host that is not listed', '<script src="https://other.test/a.js"></script>'],
    [
      'by a script',
      `<script>fetch('${ORIGIN}/red.png').catch(() => 0); const x = new XMLHttpRequest(); x.open('GET', '${ORIGIN}/red.png'); x.send()</script>`,
    ],
    [
      'by a beacon',
      `<script>navigator.sendBeacon('${ORIGIN}/red.png'); new EventSource('${ORIGIN}/red.png'); new WebSocket('wss://${HOST}/red.png')</script>`,
    ],
    [
      'ahead of need',
      `<link rel="preconnect" href="${ORIGIN}"><link rel="prefetch" href="${ORIGIN}/red.png"><link rel="icon" href="${ORIGIN}/red.png"><link rel="manifest" href="${ORIGIN}/red.png">`,
    ],
    ['by a worker', `<script>new Worker(URL.createObjectURL(new Blob(["fetch('${ORIGIN}/red.png')"])))</script>`],
  ])('%s', async ([, html]) => {
    expect(textOf(await render(`${html}<p>done</p>`, SCRIPTED))).toContain('done')
    expect(host.connections()).toBe(connectionsBefore)
  })

  let connectionsBefore = 0
  beforeEach(() => {
    connectionsBefore = host.connections()
  })

  test('where no host is listed', async () => {
    const html = `<img src="${ORIGIN}/red.png" style="${SQUARE}"><link rel="stylesheet" href="${ORIGIN}/a.css">`
    expect(colourAt(await render(html, { allowedHosts: [] }), 30, 30)).toEqual([255, 255, 255])
    expect(host.connections()).toBe(connectionsBefore)
  })

  test('by Chromium, which has no socket of the internet while it waits for a file', async () => {
    let found: readonly string[] = ['the host was not asked']
    host.answer('/look.png', (request, response) => {
      const group = browsersOf(opened.profileDir).flatMap(({ pid }) => membersOf(pid))
      expect(group.length).toBeGreaterThan(2)
      found = group.flatMap(({ pid }) => socketsOf(pid))
      giving(aSquare(RED))(request, response)
    })
    expect(socketsOf(process.pid)).not.toEqual([])
    await render(`<img src="${ORIGIN}/look.png">`)
    expect(found).toEqual([])
  })
})

/** A document that nobody can tell whether it shows its image. */
const BACKGROUND = '<p style="background: url(URL)">x'

describe('a document fails with asset_unavailable', () => {
  test.for<[string, RequestListener, string, string]>([
    ['an image is not there', answering(404), '<img src="URL">', 'it answered with the status 404'],
    [
      'a background is not there',
      answering(500),
      '<p style="background: url(URL)">x',
      'it answered with the status 500',
    ],
    [
      'a style sheet is not there',
      answering(404),
      '<link rel="stylesheet" href="URL">',
      'it answered with the status 404',
    ],
    ['a font is not there', answering(404), FAR_FONT(), 'it answered with the status 404'],
    [
      'an image is a page',
      giving('<html>no</html>'),
      BACKGROUND,
      'the file is not an SVG: its root is another element',
    ],
    [
      'an image is a text',
      giving('nothing of the kind'),
      '<img src="URL">',
      'the file is not an image that can be shown',
    ],
    [
      'an image is damaged behind its beginning',
      giving(aSquare(RED).subarray(0, 30)),
      '<img src="URL">',
      'the file cannot be shown as an image',
    ],
    ['an image is damaged', giving(aSquare(RED).subarray(0, 20)), BACKGROUND, 'the image is damaged'],
    ['an image is too large', giving(aPng({ width: 9000, height: 9000 })), BACKGROUND, 'at most 25000000 are allowed'],
    [
      'an image is a font',
      giving(aDejaVuFont('DejaVuSansMono')),
      '<img src="URL">',
      'the file is not an image that can be shown',
    ],
    ['a font is an image', giving(aSquare(RED)), FAR_FONT(), 'the file is not a font that can be shown'],
    [
      'a font is damaged',
      giving(aDejaVuFont('DejaVuSansMono').subarray(0, 5000)),
      FAR_FONT(),
      'the font Far could not be loaded',
    ],
    [
      'a style sheet is another text',
      giving('{"secret": 1}', 'application/json'),
      '<link rel="stylesheet" href="URL">',
      'the file is not a style sheet: its Content-Type is not text/css',
    ],
    [
      'a script is a page',
      giving('<html>no</html>', 'text/html'),
      '<script src="URL"></script>',
      'the file is not a script: its Content-Type is not that of JavaScript',
    ],
    ['a script is not there', answering(404), '<script src="URL"></script>', 'it answered with the status 404'],
    [
      'a redirect leads elsewhere',
      answering(302, { location: 'https://other.test/' }),
      '<img src="URL">',
      'it redirects to other.test, which is not among the allowed hosts',
    ],
    ['an image of the header is not there', answering(404), 'HEADER', 'it answered with the status 404'],
    ['an image of the header is a text', giving('a text'), 'HEADER', 'the file is not an image that can be shown'],
  ])('where %s', async ([, answer, html, reason]) => {
    host.answer('/file?token=secret', answer)
    const url = `${ORIGIN}/file?token=secret`
    const header = html === 'HEADER' ? { header: `<img src="${url}">` } : SCRIPTED
    const failure: unknown = await render(`<p>x</p>${html.replace('URL', url)}`, header).catch(
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({ code: 'asset_unavailable', message: expect.stringContaining(reason) })
    expect(String(failure)).not.toContain('secret')
  })

  test('where the URL is one that is not fetched', async () => {
    const message = `the document: ${HOST}: files are fetched only from port 443 for https and port 80 for http`
    const failed = expect.objectContaining({ code: 'asset_unavailable', message })
    await expect(render(`<img src="https://${HOST}:8443/red.png">`)).rejects.toEqual(failed)
    expect(host.asked).toEqual([])
  })

  test('where it fetches too much in all', async () => {
    const size = 9_000_000
    const bitmap = Buffer.concat([aSquare(RED), Buffer.alloc(size - aSquare(RED).length)])
    const paths = Array.from({ length: Math.ceil(EGRESS_RENDER_BYTES_MAX / size) + 1 }, (_, at) => `/large-${at}.png`)
    for (const path of paths) host.answer(path, giving(bitmap))
    const images = paths.map((path) => `<img src="${ORIGIN}${path}">`)
    const message = expect.stringContaining('with this file, the files of other hosts have more than 33554432 bytes')
    await expect(render(images.join(''))).rejects.toMatchObject({ code: 'asset_unavailable', message })
  })
})

describe('what was fetched', () => {
  const image = `<img src="${ORIGIN}/red.png" style="${SQUARE}">`

  test('is cached for the next render of the template', async () => {
    for (let round = 0; round < 3; round += 1) expect(colourAt(await render(image), 30, 30)).toEqual(RED)
    expect(host.asked).toHaveLength(1)
  })

  test('is fetched again for another tenant, and for another version of the template', async () => {
    await render(image)
    await render(image, { tenant: `${tenant}-other` })
    await render(image, { allowedHosts: [HOST, 'other.test'] })
    expect(host.asked).toHaveLength(3)
  })

  test('is not in the memory of the page for a template that does not list the host', async () => {
    expect(colourAt(await render(image), 30, 30)).toEqual(RED)
    expect(colourAt(await render(image, { allowedHosts: [] }), 30, 30)).toEqual([255, 255, 255])
    expect(colourAt(await render(image, { allowedHosts: ['other.test'] }), 30, 30)).toEqual([255, 255, 255])
  })

  test('is not in the memory of the page when it is too old, or another version of the template shows it', async () => {
    await render(image)
    host.answer('/red.png', giving(aSquare(BLUE)))
    expect(colourAt(await render(image), 30, 30)).toEqual(RED)
    expect(colourAt(await render(image, { allowedHosts: [HOST, 'other.test'] }), 30, 30)).toEqual(BLUE)
    expect(colourAt(await render(image), 30, 30)).toEqual(RED)
    elapsedMs += EGRESS_CACHE_MS
    expect(colourAt(await render(image), 30, 30)).toEqual(BLUE)
  })
})

function FAR_FONT(): string {
  return `<style>@font-face { font-family: Far; src: url(URL) }</style><p style="font-family: Far">x</p>`
}
