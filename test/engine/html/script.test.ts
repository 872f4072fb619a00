import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anAsset, aPng, BLUE, RED } from '../../fixture/asset.ts'
import { anEngine, aWork, browsersOf, colourAt, infoOf, NEVER, textOf, type WorkParts } from './html-fixture.ts'

let opened: Awaited<ReturnType<typeof anEngine>>
const SCRIPTED: WorkParts = { javascript: true, javascriptEnabled: true }
/** A document whose scripts run. The source is raw, as Liquid has signs in common with JavaScript. */
const scripted = (html: string, parts?: WorkParts) =>
  aWork('<!doctype html><body>{{ html | raw }}', { ...SCRIPTED, data: { html }, ...parts })
const render = (html: string, parts?: WorkParts) => opened.render(scripted(html, parts))

beforeAll(async () => {
  opened = await anEngine()
})
afterAll(() => opened[Symbol.asyncDispose]())

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
    const pdf = await render(html, { assets: [anAsset('red.png', aPng(RED))] })
    expect([colourAt(pdf, 30, 30), colourAt(pdf, 110, 30)]).toEqual([BLUE, RED])
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
    const rendering = await opened.engine.render(scripted('static<script>document.write("RAN")</script>', parts), NEVER)
    expect([textOf(rendering.pdf), rendering.warnings.map(({ code }) => code)]).toEqual(['static', codes])
  })

  test('leaves nothing to the next document, of its template or another', async () => {
    const leave = `<script>
      try { localStorage.x = 'LEFT' } catch {}
      try { document.cookie = 'x=LEFT' } catch {}
      window.x = 'LEFT'; window.name = 'LEFT'; history.replaceState('LEFT', '')
      setInterval(() => document.body.append('LEFT'), 1)
      new Worker('data:text/javascript,new BroadcastChannel("x").onmessage = () => 0;setInterval(() => new BroadcastChannel("x").postMessage("LEFT"), 1)')
    </script>x`
    const look = `<script>
      const found = [window.x, window.name, history.state]
      try { found.push(localStorage.x) } catch {}
      try { found.push(document.cookie) } catch {}
      new BroadcastChannel('x').onmessage = () => document.body.append('LEFT')
      document.write('found: ' + found.join(''))
    </script>`
    await render(leave)
    expect(textOf(await render(look))).toBe('found:')
    expect(textOf(await opened.render(aWork('plain')))).toBe('plain')
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
    ['location', `location = 'http://127.0.0.1/'`, 'left the document'],
    [
      'location after a time',
      `setTimeout(() => location.href = 'about:blank'); for (let i = 0; i < 1e7; i += 1);`,
      'left',
    ],
    ['reload', 'location.reload()', 'left the document'],
    ['a document of its own', `location = URL.createObjectURL(new Blob(['other'], { type: 'text/html' }))`, 'left'],
    [
      'a form',
      `document.body.append(Object.assign(document.createElement('form'), { action: 'about:blank' })); document.forms[0].submit()`,
      'left',
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

  test('crashes its page when it takes too much memory, and no other', async () => {
    const greedy = '<script>const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))</script>'
    const [lost, other] = await Promise.allSettled([render(greedy), opened.render(aWork('other', { tenant: 'other' }))])
    expect(lost).toMatchObject({ reason: { code: 'render_crashed' } })
    expect(other.status === 'fulfilled' && textOf(other.value)).toBe('other')
  })

  test.for([
    ['a loop', '<script>for (;;);</script>'],
    ['promises', '<script>(function next() { Promise.resolve().then(next) })()</script>'],
    ['an open dialog in a loop', '<script>for (;;) print()</script>'],
    ['a loop in a frame', `<iframe srcdoc="<script>for (;;);</script>"></iframe>`],
  ])('that goes on for ever (%s) ends at its deadline, and nobody else with it', async ([, html = '']) => {
    const [browser] = browsersOf(opened.profileDir)
    const controller = new AbortController()
    const endless = opened.render(scripted(html), controller.signal)
    endless.catch(() => undefined)
    const others = Array.from({ length: 5 }, (_, index) => opened.render(aWork(`<p>${index}`, { tenant: 'other' })))
    expect((await Promise.all(others)).map(textOf)).toEqual(['0', '1', '2', '3', '4'])
    controller.abort(new Error('deadline'))
    await expect(endless).rejects.toThrow('deadline')
    const next = await Promise.all([render('next<script></script>'), opened.render(aWork('next'))])
    expect(next.map(textOf)).toEqual(['next', 'next'])
    expect(browsersOf(opened.profileDir).map(({ pid }) => pid)).toEqual([browser?.pid])
  })
})

test('frames may not ask for assets without end', async () => {
  const assets = Array.from({ length: 60 }, (_, index) => anAsset(`${index}.png`, aPng([0, 0, index])))
  const frame = `<iframe srcdoc="${assets.map(({ name }) => `<img src=asset:${name}>`).join('')}"></iframe>`
  const message = 'the document asks for assets more than 1000 times'
  await expect(opened.render(aWork(frame.repeat(20), { assets }))).rejects.toThrow(message)
})

describe('the network', () => {
  const reached: string[] = []
  const tcp = createServer((socket) => {
    reached.push('tcp')
    socket.destroy()
  })
  const udp = createSocket('udp4', () => void reached.push('udp'))
  let host = ''

  beforeAll(async () => {
    tcp.listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    const address = tcp.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    udp.bind(port, '127.0.0.1')
    await once(udp, 'listening')
    host = `127.0.0.1:${port}`
  })
  afterAll(() => {
    tcp.close()
    udp.close()
  })
  beforeEach(() => {
    reached.length = 0
  })

  test.for(Object.entries(attempts()))('is not reached by %s', async ([, attempt]) => {
    // Image after image, the document goes on loading for a tenth of a second: many round trips on one machine.
    const wait = `<script>
      const until = performance.now() + 100
      const next = () => {
        if (performance.now() > until) return
        const image = new Image()
        image.onload = image.onerror = next
        image.src = 'data:,' + performance.now()
      }
      next()
    </script>`
    const html = attempt.replaceAll('HOST', host) + wait
    // Those that would leave the document fail it.
    await render(html).catch((error: unknown) => expect(error).toMatchObject({ code: 'template_error' }))
    expect(reached).toEqual([])
  })
})

/** Every way a document with scripts has to reach `HOST`. */
function attempts(): Record<string, string> {
  const script = (code: string) => `<script>${code}</script>`
  const quiet = (code: string) => script(`try { ${code} } catch {}`)
  const webRtc = `const servers = ['stun:HOST', 'turn:HOST?transport=udp', 'turn:HOST?transport=tcp', 'turns:HOST?transport=tcp']
    const peer = new RTCPeerConnection({ iceServers: servers.map((urls) => ({ urls, username: 'a', credential: 'b' })) })
    peer.createDataChannel('x')
    peer.createOffer().then((offer) => peer.setLocalDescription(offer))`
  const candidates = `(async () => {
    const [peer, other] = [new RTCPeerConnection(), new RTCPeerConnection()]
    peer.createDataChannel('x'), other.createDataChannel('x')
    await peer.setLocalDescription(await peer.createOffer())
    const answer = (await other.createOffer()).sdp.replace('actpass', 'active')
    await peer.setRemoteDescription({ type: 'answer', sdp: answer })
    const [address, port] = 'HOST'.split(':')
    for (const kind of ['udp 2122260223 ADDRESS typ host', 'tcp 1518280447 ADDRESS typ host tcptype passive']) {
      const candidate = 'candidate:1 1 ' + kind.replace('ADDRESS', address + ' ' + port)
      await peer.addIceCandidate({ candidate, sdpMid: '0' })
    }
  })().catch(() => {})`
  const links = [
    'prefetch',
    'preconnect',
    'dns-prefetch',
    'prerender',
    'modulepreload',
    'icon',
    'manifest',
    'stylesheet',
  ]
  return {
    fetch: script(
      `fetch('http://HOST').catch(() => {}); fetch('http://HOST', { keepalive: true, mode: 'no-cors' }).catch(() => {})`,
    ),
    XMLHttpRequest: quiet(
      `for (const waits of [true, false]) { const x = new XMLHttpRequest(); x.open('GET', 'http://HOST', waits); x.send() }`,
    ),
    WebSocket: script(
      `new WebSocket('ws://HOST'); new WebSocket('wss://HOST'); new WebSocket('ws://HOST'.replace('127.0.0.1', 'localhost'))`,
    ),
    EventSource: script(`new EventSource('http://HOST')`),
    sendBeacon: script(`navigator.sendBeacon('http://HOST', 'x')`),
    'WebRTC, by its servers': script(webRtc),
    'WebRTC, by its peers': script(candidates),
    WebTransport: quiet(`new WebTransport('https://HOST')`),
    import: `<script>import('http://HOST/a.js').catch(() => {})</script><script type="module" src="http://HOST/b.js"></script><script src="http://HOST/c.js"></script>`,
    worker: script(`for (const type of ['classic', 'module']) {
      const code = "fetch('http://HOST');new WebSocket('ws://HOST');new EventSource('http://HOST');try{importScripts('http://HOST')}catch{}"
      new Worker(URL.createObjectURL(new Blob([code])), { type })
      new Worker('data:text/javascript,' + encodeURIComponent(code), { type })
    }`),
    'shared worker': quiet(`new SharedWorker('data:text/javascript,fetch("http://HOST")')`),
    'service worker': quiet(`navigator.serviceWorker.register('http://HOST/x.js').catch(() => {})`),
    worklet: quiet(
      `CSS.paintWorklet.addModule('http://HOST/x.js').catch(() => {}); new AudioContext().audioWorklet?.addModule('http://HOST/y.js').catch(() => {})`,
    ),
    window: script(
      `const other = open('about:blank'); other?.document.write('<img src="http://HOST">'); open('http://HOST'); open('http://HOST', '_blank', 'noopener')`,
    ),
    'link to a window': `<a id="link" target="_blank" href="http://HOST">x</a><script>link.click()</script>`,
    frame: `<iframe src="http://HOST"></iframe><iframe srcdoc="<script>fetch('http://HOST'); new WebSocket('ws://HOST')</script>"></iframe>
      <iframe src="data:text/html,<script>new WebSocket('ws://HOST')</script><img src='http://HOST'>"></iframe><iframe src="javascript:fetch('http://HOST')"></iframe>`,
    form: `<form id="go" method="post" action="http://HOST"></form><script>go.submit()</script>`,
    'form to a window': `<form id="go" target="_blank" action="http://HOST"></form><script>go.submit()</script>`,
    location: script(`location = 'http://HOST'`),
    refresh: script(`document.head.innerHTML += '<meta http-equiv="refresh" content="0;url=http://HOST">'`),
    links: links
      .map((rel) =>
        script(
          `document.head.append(Object.assign(document.createElement('link'), { rel: '${rel}', href: 'http://HOST/${rel}' }))`,
        ),
      )
      .join(''),
    'speculation rules': `<script type="speculationrules">{"prerender": [{"source": "list", "urls": ["http://HOST/a"]}], "prefetch": [{"source": "list", "urls": ["http://HOST/b"]}]}</script>`,
    media: script(
      `new Audio('http://HOST').play().catch(() => {}); document.body.append(Object.assign(document.createElement('video'), { src: 'http://HOST', autoplay: true }))`,
    ),
    ping: `<a id="link" href="#x" ping="http://HOST">x</a><script>link.click()</script>`,
    font: script(`new FontFace('x', 'url(http://HOST/x.ttf)').load().catch(() => {})`),
  }
}
