/** What becomes of documents beside others that take their browser from them: they come out, and no attempt of theirs is counted. */

import { systemClock } from '@platen/adapters/system/clock.ts'
import { RENDER_ATTEMPTS_MAX } from '@platen/contract/domain/limit.ts'
import type { Ended } from '@platen/contract/domain/render.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { BROWSER_PING_EVERY_MS } from '@platen/renderer/browser/browser-source.ts'
import type { RenderWork } from '@platen/renderer/port/engine.ts'
import { runWorker } from '@platen/renderer/worker.ts'
import { describe, expect, test, vi } from 'vitest'
import { aRecord, NEVER, SILENT } from '../../fixture/build.ts'
import { queueUp, WORKER_SETTINGS, workerPorts } from '../../fixture/render/work.ts'
import { membersOf } from '../../soak/process-tree.ts'
import { aHeldHost, HOST, heldBy, PATIENCE } from './held-host.ts'
import { anEngine, aWork, browsersOf, textOf } from './html-fixture.ts'

const VICTIM = heldBy('victim')
const FRAMES = 1000
/** Frames that are there when the document is abandoned; it goes on making the others. */
const FRAMES_BEGUN = 150
const FRAME_PAGE = Array.from({ length: FRAMES }, (_, at) =>
  at === FRAMES_BEGUN ? `<iframe srcdoc='${heldBy('frames')}'></iframe>` : '<iframe srcdoc="x"></iframe>',
).join('')
const BLOBS =
  'const kept = []; for (let at = 0; at < 96; at++) kept.push(new Blob([new Uint8Array(2 ** 24).fill(at)])); for (;;);'

type Opened = Awaited<ReturnType<typeof anEngine>>

const aDocument = (html: string, tenant: string) =>
  aWork(`${html}<p>${tenant}`, { tenant, template: { allowedHosts: [HOST] } })

/** Begins a document and leaves it when it has asked for its file. Its browser may be kept from hearing of that. */
async function abandon(opened: Opened, html: string, begun: () => Promise<void>): Promise<void> {
  const controller = new AbortController()
  const render = opened.render(aDocument(html, 'attacker'), controller.signal)
  render.catch(() => undefined)
  await begun()
  controller.abort(new Error('the caller has gone'))
  await expect(render).rejects.toThrow('the caller has gone')
}

function killBrowsers({ profileDir }: Opened): void {
  for (const { group } of browsersOf(profileDir)) process.kill(group, 'SIGKILL')
}

function killPages({ profileDir }: Opened): void {
  const members = browsersOf(profileDir).flatMap(({ group }) => membersOf(group))
  for (const { pid, command } of members) if (command.includes('--type=renderer')) process.kill(pid, 'SIGKILL')
}

/** Makes a document as a worker does, attempt by attempt, until it has an outcome. */
async function work(opened: Opened, document: RenderWork): Promise<Ended> {
  const ports = workerPorts()
  await queueUp(ports, aRecord({ engine: 'html' }))
  const engine = {
    ...opened.engine,
    render: (_: RenderWork, signal: AbortSignal) => opened.engine.render(document, signal),
  }
  const stopping = new AbortController()
  const running = runWorker(ports, engine, { settings: WORKER_SETTINGS, signal: stopping.signal, forceStop: NEVER })
  for await (const { event } of ports.events.follow('test', NEVER)) {
    stopping.abort()
    await running
    return event.manifest
  }
  throw new Error('the events ended')
}

describe('a document beside others', () => {
  test('stays where it is when a page of its browser does not close, and nobody else is given a page there', async () => {
    const host = aHeldHost()
    const retired = Promise.withResolvers<void>()
    const log = { ...SILENT, info: (_: object, message: string) => message === 'browser retired' && retired.resolve() }
    // A browser that is held up is not to be missed, however slow the machine is.
    const real = systemClock()
    const sleep: Clock['sleep'] = (ms, signal) => real.sleep(ms === BROWSER_PING_EVERY_MS ? 1e9 : ms, signal)
    await using opened = await anEngine({ slots: 2, remote: host.remote, log, clock: { ...real, sleep } })
    const victim = opened.render(aDocument(VICTIM, 'victim'))
    await host.whenAsked('victim')
    const [browser] = browsersOf(opened.profileDir)
    if (browser === undefined) throw new Error('there is no browser')
    await abandon(opened, heldBy('attacker'), async () => {
      await host.whenAsked('attacker')
      process.kill(browser.pid, 'SIGSTOP')
    })
    await retired.promise
    process.kill(browser.pid, 'SIGCONT')
    expect(textOf(await opened.render(aDocument('', 'next')))).toBe('next')
    host.give('victim')
    expect(textOf(await victim)).toBe('victim')
    expect(host.times('victim')).toBe(1)
    await vi.waitFor(() => expect(membersOf(browser.group)).toEqual([]), PATIENCE)
  })

  test(`comes out beside pages of ${FRAMES} frames that are abandoned again and again`, async () => {
    const host = aHeldHost()
    await using opened = await anEngine({ slots: 3, remote: host.remote })
    const victim = work(opened, aDocument(VICTIM, 'victim'))
    await host.whenAsked('victim')
    for (let round = 1; round <= 2; round += 1) {
      const begun = () => host.whenAsked('frames', round * 2)
      await Promise.all([abandon(opened, FRAME_PAGE, begun), abandon(opened, FRAME_PAGE, begun)])
    }
    host.give('victim')
    expect(await victim).toMatchObject({ attempt: 1, outcome: { status: 'succeeded' } })
  })

  test('stays where it is when page JavaScript fills the browser, and only the other fails', async () => {
    const host = aHeldHost()
    await using opened = await anEngine({ slots: 2, remote: host.remote })
    const victim = opened.render(aDocument(VICTIM, 'victim'))
    await host.whenAsked('victim')
    const parts = { tenant: 'attacker', javascript: true, javascriptEnabled: true }
    await expect(opened.render(aWork(`<script>${BLOBS}</script>`, parts))).rejects.toMatchObject({
      code: 'template_error',
      message: 'the document needs more than 1024 MiB of memory in the browser outside its page',
    })
    host.give('victim')
    expect(textOf(await victim)).toBe('victim')
    expect(host.times('victim')).toBe(1)
  })

  test('is begun again at once in a browser of its own when that of all is killed, at no cost to its attempts', async () => {
    const host = aHeldHost()
    await using opened = await anEngine({ slots: 2, remote: host.remote })
    const [victim, other] = [
      work(opened, aDocument(VICTIM, 'victim')),
      opened.render(aDocument(heldBy('other'), 'other')),
    ]
    await Promise.all([host.whenAsked('victim'), host.whenAsked('other')])
    killBrowsers(opened)
    await Promise.all([host.whenAsked('victim', 2), host.whenAsked('other', 2)])
    // That of new pages, and one for each of the two.
    await vi.waitFor(() => expect(browsersOf(opened.profileDir)).toHaveLength(3), PATIENCE)
    host.give('victim')
    host.give('other')
    expect(await victim).toMatchObject({ attempt: 1, outcome: { status: 'succeeded' } })
    expect(textOf(await other)).toBe('other')
    await vi.waitFor(() => expect(browsersOf(opened.profileDir)).toHaveLength(1), PATIENCE)
  })

  test('that is begun again meets its deadline, which is the same', async () => {
    const host = aHeldHost()
    await using opened = await anEngine({ slots: 1, remote: host.remote })
    const controller = new AbortController()
    const render = opened.render(aDocument(VICTIM, 'victim'), controller.signal)
    render.catch(() => undefined)
    await host.whenAsked('victim')
    killBrowsers(opened)
    await host.whenAsked('victim', 2)
    controller.abort(new Error('deadline'))
    await expect(render).rejects.toThrow('deadline')
    expect(textOf(await opened.render(aDocument('', 'next')))).toBe('next')
  })
})

describe('a document that is itself at fault', () => {
  test.for<[string, (opened: Opened) => void, { readonly startsMax: number }]>([
    ['its page', killPages, { startsMax: RENDER_ATTEMPTS_MAX }],
    ['its browser, also where it has one of its own', killBrowsers, { startsMax: RENDER_ATTEMPTS_MAX * 2 }],
  ])('has failed for good when it has crashed %s, at each attempt', async ([, kill, { startsMax }]) => {
    const host = aHeldHost()
    await using opened = await anEngine({ slots: 1, remote: host.remote })
    const ending = new AbortController()
    const { signal: over } = ending
    const outcome = work(opened, aDocument(VICTIM, 'culprit')).finally(() => ending.abort())
    // A start may be lost, too, before it has asked: the browser of the next page dies with all others.
    for (let starts = 0; !over.aborted; starts = host.times('victim')) {
      await vi.waitFor(() => expect(over.aborted || host.times('victim') > starts).toBe(true), PATIENCE)
      kill(opened)
    }
    expect(await outcome).toMatchObject({
      attempt: RENDER_ATTEMPTS_MAX,
      outcome: { status: 'failed', error: { code: 'render_crashed' } },
    })
    expect(host.times('victim')).toBeGreaterThanOrEqual(RENDER_ATTEMPTS_MAX)
    expect(host.times('victim')).toBeLessThanOrEqual(startsMax)
  })
})
