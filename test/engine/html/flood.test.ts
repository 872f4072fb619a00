/**
 * Documents that make the browser send without end, by each kind of message that it has: one huge message, and many. Such a document fails with
 * a reason, or nothing of it arrives. A document of another tenant in the same browser is begun once and comes out.
 */
import { EVENT_BYTES_MAX } from '@platen/renderer/browser/message-reader.ts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type LogLine, logTo } from '../../fixture/build.ts'
import { aHeldHost, HOST, heldBy } from './held-host.ts'
import { anEngine, aWork, browsersOf, textOf, type WorkParts } from './html-fixture.ts'

const MIB = 1024 * 1024
/** Each of them takes six bytes in a message. */
const HUGE = `const huge = '\\u0001'.repeat(20e6);`
const LARGE = `const large = 'x'.repeat(100_000);`
const FRAME = `const frame = document.createElement('iframe'); document.body.append(frame);`
/** So many messages were more than enough, if they were sent. */
const TIMES = 30_000
/** Repeats a statement in tasks of their own, so that each of them reaches the browser. */
const repeat = (statement: string, times = TIMES, each = 50) =>
  `platen.ready(new Promise((done) => {
    const { port1, port2 } = new MessageChannel(); let at = 0;
    port2.onmessage = () => { for (let n = 0; n < ${each}; n++, at++) { ${statement} } at < ${times} ? port1.postMessage(0) : done() };
    port1.postMessage(0);
  }));`
const later = (statement: string) =>
  `platen.ready(new Promise((done) => setTimeout(() => { ${statement}; setTimeout(done, 100) })));`
const FORM = `<iframe name="f"></iframe><form target="f" method="post" action="https://h.invalid/"><input type="hidden" name="a"></form>`

const REQUESTS = 'the document keeps the browser busy with requests that it sends: more than 20000 times, or 8 MiB'
const FRAMES = 'the document keeps the browser busy with frames, their names, addresses and dialogs: more than'
const PRINTED = 'printed'

const SCRIPTED: readonly (readonly [string, string, string, string?])[] = [
  [
    'one body of a request',
    `${HUGE} platen.ready(fetch('https://h.invalid/', { method: 'POST', body: huge }).catch(() => {}));`,
    REQUESTS,
  ],
  [
    'one body, before the document has loaded',
    `${HUGE} const request = new XMLHttpRequest(); request.open('POST', 'https://h.invalid/', false); try { request.send(huge) } catch {}`,
    REQUESTS,
  ],
  [
    'one body of a form',
    `${HUGE} document.querySelector('input').value = huge;
    platen.ready(new Promise((done) => { document.querySelector('iframe').onload = done; document.forms[0].submit() }));`,
    REQUESTS,
    FORM,
  ],
  [
    'bodies',
    LARGE + repeat(`fetch('https://h.invalid/', { method: 'POST', body: large }).catch(() => {})`, 1000, 5),
    REQUESTS,
  ],
  ['requests', repeat(`fetch('https://h.invalid/').catch(() => {})`), REQUESTS],
  [
    'one name of a frame',
    `${HUGE} const frame = document.createElement('iframe'); frame.name = huge; document.body.append(frame);`,
    FRAMES,
  ],
  [
    'names of frames',
    LARGE +
      repeat(
        `const frame = document.createElement('iframe'); frame.name = large; document.body.append(frame); frame.remove()`,
        5000,
        5,
      ),
    FRAMES,
  ],
  ['one text on the console', `${HUGE} ${later('console.group(huge)')}`, PRINTED],
  ['texts on the console', LARGE + repeat(`console.assert(false, large)`, 2000, 10), PRINTED],
  ['one text on the console of a frame', `${HUGE} ${FRAME} ${later('frame.contentWindow.console.log(huge)')}`, PRINTED],
  ['texts on the console of a frame', FRAME + repeat(`frame.contentWindow.console.log(at)`), PRINTED],
  ['one exception', `${HUGE} Event.prototype.preventDefault = () => {}; ${later('reportError(huge)')}`, PRINTED],
  ['exceptions', `Event.prototype.preventDefault = () => {}; ${repeat(`reportError(at)`)}`, PRINTED],
  [
    'one rejection in a frame',
    `${HUGE} ${FRAME} frame.contentWindow.huge = huge; ${later(`frame.contentWindow.eval('Promise.reject(huge)')`)}`,
    PRINTED,
  ],
  ['one dialog', `${HUGE} ${later('alert(huge)')}`, PRINTED],
  ['addresses of its own', LARGE + repeat(`location.hash = large + at`, 2000, 5), FRAMES],
  ['addresses of a frame', FRAME + repeat(`frame.contentWindow.location.hash = at`), PRINTED],
]

let host: ReturnType<typeof aHeldHost>
let opened: Awaited<ReturnType<typeof anEngine>>
const warnings: LogLine[] = []
/** The characters of all events that were parsed. */
let parsed = 0
let attacks = 0

beforeAll(async () => {
  host = aHeldHost()
  const log = logTo((line) => line.level === 'warn' && warnings.push(line))
  opened = await anEngine({ slots: 3, remote: host.remote, log })
  const { parse } = JSON
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.startsWith('{"method"')) parsed += text.length
    return parse(text, reviver)
  })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await opened[Symbol.asyncDispose]()
})

const render = async (html: string, parts: WorkParts) =>
  opened.render(aWork(html, parts)).then(
    () => PRINTED,
    (error) => `${error.code}: ${error.message}`,
  )

/** Renders a document while one of another tenant waits in the same browser, and says how the first has ended. */
async function beside(html: string, parts: WorkParts): Promise<string> {
  attacks += 1
  const name = `neighbour-${attacks}`
  const neighbour = opened.render(
    aWork(`${heldBy(name)}<p>neighbour`, { tenant: 'neighbour', template: { allowedHosts: [HOST] } }),
  )
  await host.whenAsked(name)
  // The newest one: an older one that was filled ends when its documents have.
  const browser = Math.max(...browsersOf(opened.profileDir).map(({ pid }) => pid))
  parsed = 0
  const ended = await render(html, { tenant: 'attacker', ...parts })
  // One with many frames is begun twice.
  expect(parsed).toBeLessThan(2 * EVENT_BYTES_MAX + 2 * MIB)
  expect(await render('<p>x', { tenant: 'neighbour' })).toBe(PRINTED)
  expect(browsersOf(opened.profileDir).map(({ pid }) => pid)).toContain(browser)
  host.give(name)
  expect(textOf(await neighbour)).toBe('neighbour')
  expect([host.times(name), warnings]).toEqual([1, []])
  return ended
}

describe('scripts that send', () => {
  test.for(SCRIPTED)('%s', async ([, script, told, html = '']) => {
    const parts = { javascript: true, javascriptEnabled: true, data: { script } }
    const ended = await beside(`<body>x${html}<script>{{ script | raw }}</script>`, parts)
    expect(ended).toContain(told)
    if (told !== PRINTED) expect(ended).toMatch(/^template_error: /)
  })
})

describe('a document without scripts that has', () => {
  test.for([
    ['one name of a frame', '<iframe name="{{ long }}{{ long }}{{ long }}{{ long }}"></iframe>', FRAMES],
    [
      'an address that all others begin with',
      '<base href="https://h.invalid/{{ path }}/">{% for i in (1..500) %}<img src="{{ i }}">{% endfor %}',
      REQUESTS,
    ],
    ['frames that say nothing of others', `{% for i in (1..100) %}<iframe srcdoc="x"></iframe>{% endfor %}`, PRINTED],
  ] as const)('%s', async ([, html, told]) => {
    const ended = await beside(`<body>x${html}`, { data: { long: 'é'.repeat(2e6), path: 'x'.repeat(1e5) } })
    expect(ended).toContain(told)
    if (told !== PRINTED) expect(ended).toMatch(/^template_error: /)
  })
})
