/**
 * Chromium killed piece by piece, stopped in the middle, or never really there: what becomes of renders, and of the next ones. And what a
 * browser says of itself and of its pages.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { PrintDocument } from '@platen/renderer/browser/document/load.ts'
import { openPageMemory } from '@platen/renderer/browser/document/memory.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { writeFontConfig } from '@platen/renderer/browser/font-config.ts'
import {
  BROWSER_LAUNCH_MS_MAX,
  chromiumFlags,
  type LaunchSettings,
  launchBrowser,
  type RunningBrowser,
} from '@platen/renderer/browser/launch.ts'
import { openPage, PAGE_KEPT_CHARS_MAX } from '@platen/renderer/browser/page.ts'
import type { CDPSession } from 'puppeteer'
import { describe, expect, test, vi } from 'vitest'
import { NEVER, SILENT } from '../../fixture/build.ts'
import { aFolder } from '../../fixture/lifetime.ts'
import { membersOf, processesWith } from '../../soak/process-tree.ts'
import { poll } from '../../time/poll.ts'
import { anEngine, aWork, BUSY, browsersOf, ENDLESS, textOf } from './html-fixture.ts'

const MIB = 1024 * 1024
/** A safety net: what is waited for are processes, which say nothing when they have come or gone. */
const PATIENCE = { timeout: 60_000, interval: 50 }

type Opened = Awaited<ReturnType<typeof anEngine>>

/** The processes of the one browser of an engine, of one type; '' is the main one. */
function processesOf({ profileDir }: Opened, type: string) {
  const [browser] = browsersOf(profileDir)
  if (browser === undefined) throw new Error('there is no browser')
  const isWanted = (command: string) =>
    type === '' ? !command.includes('--type=') : command.includes(`--type=${type}`)
  return membersOf(browser.group).filter(({ command }) => isWanted(command))
}

/** Renders again and again, as the worker does, until it comes out. */
async function insist(opened: Opened, html: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    await opened.engine.ready(NEVER)
    try {
      return textOf(await opened.render(aWork(html)))
    } catch (error) {
      expect(error).toMatchObject({ code: 'render_crashed' })
      if (attempt === 3) throw error
    }
  }
}

/** Begins a render that goes on until it is ended, and waits until a page is at work on it. */
async function endlessRender(opened: Opened) {
  const controller = new AbortController()
  const render = opened.render(aWork(ENDLESS, { tenant: 'endless' }), controller.signal)
  render.catch(() => undefined)
  const busy = () => processesOf(opened, 'renderer').filter(({ busy: seconds }) => seconds >= BUSY)
  await vi.waitFor(() => expect(busy()).toHaveLength(1), PATIENCE)
  return { render, pids: busy().map(({ pid }) => pid), abort: () => controller.abort(new Error('deadline')) }
}

/** An executable in a folder of its own. `CHROMIUM` in the script is the real one. */
async function aScript(lines: (folder: string) => readonly string[]): Promise<{ path: string; folder: string }> {
  const folder = aFolder()
  const path = join(folder, 'chromium')
  const script = ['#!/bin/sh', ...lines(folder), ''].join('\n').replaceAll('CHROMIUM', (await findChromium({})) ?? '')
  writeFileSync(path, script, { mode: 0o755 })
  return { path, folder }
}

describe('SIGKILL', () => {
  test.for(['', 'gpu-process', 'utility', 'zygote', 'renderer'])(
    'of all processes of a kind costs a render two attempts at most: "%s"',
    async (type) => {
      await using opened = await anEngine({ slots: 1 })
      expect(await insist(opened, '<p>before')).toBe('before')
      const victims = processesOf(opened, type)
      // A headless shell without a GPU has no process for it, nor need it have a utility.
      if (type === '' || type === 'renderer' || type === 'zygote') expect(victims).not.toEqual([])
      for (const { pid } of victims) process.kill(pid, 'SIGKILL')
      expect(await insist(opened, '<p>after')).toBe('after')
      expect(await insist(opened, '<p>later')).toBe('later')
    },
  )

  test('of the largest process, as the system does when memory runs out, fails its render as a crash', async () => {
    await using opened = await anEngine({ slots: 1 })
    const { render, pids } = await endlessRender(opened)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await expect(render).rejects.toMatchObject({ code: 'render_crashed' })
    expect(await insist(opened, '<p>after')).toBe('after')
  })
})

describe('SIGSTOP', () => {
  test('of each browser it has in the middle of a render ends that as a crash, long before its deadline, and leaves no process', async () => {
    await using opened = await anEngine({ slots: 1 })
    const { render } = await endlessRender(opened)
    const [browser] = processesOf(opened, '')
    process.kill(browser?.pid ?? 0, 'SIGSTOP')
    // Its deadline is never: only the missing sign of life can end it. Then it is begun again, in a browser of its own.
    const isAtWork = (group: number) => membersOf(group).some(({ busy }) => busy >= BUSY)
    const own = () => browsersOf(opened.profileDir).find(({ pid, group }) => pid !== browser?.pid && isAtWork(group))
    await vi.waitFor(() => expect(own()).toBeDefined(), PATIENCE)
    process.kill(own()?.pid ?? 0, 'SIGSTOP')
    await expect(render).rejects.toMatchObject({ code: 'render_crashed' })
    expect(await insist(opened, '<p>after')).toBe('after')
    await vi.waitFor(() => expect(membersOf(browser?.group ?? 0)).toEqual([]), PATIENCE)
  })

  test('of an idle browser is found out before anybody asks for it', async () => {
    await using opened = await anEngine({ slots: 1 })
    expect(await insist(opened, '<p>before')).toBe('before')
    const [browser] = processesOf(opened, '')
    process.kill(browser?.pid ?? 0, 'SIGSTOP')
    await vi.waitFor(() => expect(membersOf(browser?.group ?? 0)).toEqual([]), PATIENCE)
    // Until the next one starts, the engine may not have heard yet that this one has ended.
    await vi.waitFor(() => expect(processesOf(opened, '').length).toBeGreaterThan(0), PATIENCE)
    await opened.engine.ready(NEVER)
    expect(textOf(await opened.render(aWork('<p>after')))).toBe('after')
  })

  test('of a browser whose render meets its deadline first is found out by the page that does not close', async () => {
    await using opened = await anEngine({ slots: 1 })
    const { render, abort } = await endlessRender(opened)
    const [browser] = processesOf(opened, '')
    process.kill(browser?.pid ?? 0, 'SIGSTOP')
    abort()
    await expect(render).rejects.toThrow('deadline')
    expect(await insist(opened, '<p>after')).toBe('after')
    await vi.waitFor(() => expect(membersOf(browser?.group ?? 0)).toEqual([]), PATIENCE)
  })

  test('of a page holds its render until its deadline, and nobody else', async () => {
    await using opened = await anEngine({ slots: 2 })
    const { render, pids, abort } = await endlessRender(opened)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    expect(textOf(await opened.render(aWork('<p>beside')))).toBe('beside')
    abort()
    await expect(render).rejects.toThrow('deadline')
    const both = await Promise.all([insist(opened, '<p>one'), insist(opened, '<p>two')])
    expect(both).toEqual(['one', 'two'])
  })
})

async function launchSettings(): Promise<LaunchSettings> {
  const profileDir = aFolder()
  return {
    executablePath: (await findChromium({})) ?? '',
    profileDir,
    fontConfigFile: await writeFontConfig(profileDir),
    flags: await chromiumFlags({ isSandboxed: process.getuid?.() !== 0 }),
    clock: systemClock(),
  }
}

async function aBrowser(): Promise<RunningBrowser> {
  return await launchBrowser(await launchSettings(), NEVER)
}

test('a browser has begun when the call that starts it returns, whatever the caller does next', async () => {
  const settings = await launchSettings()
  const starting = launchBrowser(settings, NEVER)
  const begun = processesWith(settings.profileDir)
  await (await starting).kill()
  expect(begun).not.toEqual([])
})

test('a browser says how much memory it has, as long as it lives', async () => {
  const running = await aBrowser()
  const before = (await running.memoryBytes()) ?? 0
  const page = await running.browser.newPage()
  await page.evaluate(`window.kept = new Uint8Array(${100 * MIB}).fill(1); 0`)
  const grown = ((await running.memoryBytes()) ?? 0) - before
  await running.kill()
  expect(before).toBeGreaterThan(10 * MIB)
  expect(grown).toBeGreaterThan(100 * MIB)
  expect(grown).toBeLessThan(200 * MIB)
  // The system takes a moment to take the memory of killed processes back.
  await poll(async () => (await running.memoryBytes()) ?? 0).until((bytes) => bytes === 0)
})

describe('a page', () => {
  const STILL = '<p>still'

  /** Prints on one page, and says after each document what `look` sees of the page. */
  async function seen<Seen>(look: (page: CDPSession) => Promise<Seen>, documents: readonly Partial<PrintDocument>[]) {
    const clock = systemClock()
    const running = await aBrowser()
    const page = await openPage(running, { clock, memory: openPageMemory(clock), isShared: true })
    const session = await page.page.createCDPSession()
    const all: Seen[] = []
    for (const document of documents) {
      await page.print({ ...PLAIN, ...document }, NEVER)
      await page.clear()
      all.push(await look(session))
    }
    await running.kill()
    return all
  }

  const PLAIN = { html: STILL, options: {}, date: 0, title: '', assets: [], isScripted: false, isMultiscript: false }
  const remote = { allowedHosts: ['a.example'], fetch: () => Promise.reject(new Error()), cached: () => undefined }

  test('is in a minimized window, except for documents in which something may move', async () => {
    const windowState = async (session: CDPSession) =>
      (await session.send('Browser.getWindowForTarget')).bounds.windowState
    const documents = [
      { html: '<style>p { animation: fade 1s }</style><p>' },
      { html: STILL },
      { html: '<style>p { TRANSITION: opacity 1s }</style><p>' },
      { html: STILL },
      { html: '<svg><rect><set attributeName="width" to="9"/></rect></svg>' },
      { html: '<marquee>moves' },
      { html: STILL },
      { html: STILL, remote },
    ]
    const states = await seen(windowState, documents)
    const [n, m] = ['normal', 'minimized']
    expect(states).toEqual([n, m, n, m, n, n, m, n])
    expect(await seen(windowState, [{ html: '<script>document.title = "x"</script>', isScripted: true }])).toEqual([n])
  })

  test('is cleared when its documents were long together', async () => {
    const text = async (session: CDPSession) => {
      const expression = 'document.body.textContent'
      return (await session.send('Runtime.evaluate', { expression, returnByValue: true })).result.value
    }
    const long = { html: `<!--${'-'.repeat(PAGE_KEPT_CHARS_MAX / 2)}-->${STILL}` }
    expect(await seen(text, [{}, long, long, {}])).toEqual(['still', 'still', '', 'still'])
  })
})

describe('an executable', () => {
  test('that starts and never answers is given up and killed, and the next attempt comes out', async () => {
    const { path, folder } = await aScript((own) => [
      `if [ -e ${own}/once ]; then exec CHROMIUM "$@"; fi`,
      `touch ${own}/once`,
      'exec sleep 1000',
    ])
    const patience = new AbortController()
    const real = systemClock()
    const timeout: Clock['timeout'] = (ms) =>
      ms === BROWSER_LAUNCH_MS_MAX && !patience.signal.aborted ? patience.signal : real.timeout(ms)
    await using opened = await anEngine({ executablePath: path, clock: { ...real, timeout }, slots: 1 })
    await vi.waitFor(() => expect(existsSync(join(folder, 'once'))).toBe(true), PATIENCE)
    const render = insist(opened, '<p>late')
    patience.abort(new DOMException('too late', 'TimeoutError'))
    expect(await render).toBe('late')
    const profiles = readdirSync(opened.profileDir).filter((name) => name.startsWith('browser-'))
    await vi.waitFor(() => expect(profiles).toHaveLength(1), PATIENCE)
  })

  test('that fails for as long as it takes costs no render anything but time', async () => {
    const { path, folder } = await aScript((own) => [`[ -e ${own}/mended ] && exec CHROMIUM "$@"`, 'exit 1'])
    let failures = 0
    const failed = Promise.withResolvers<void>()
    const error = () => {
      failures += 1
      if (failures === 4) failed.resolve()
    }
    await using opened = await anEngine({ executablePath: path, log: { ...SILENT, error }, slots: 1 })
    let isReady = false
    const wait = async () => {
      await opened.engine.ready(NEVER)
      isReady = true
    }
    const ready = wait()
    await failed.promise
    expect([isReady, opened.engine.state()]).toEqual([false, 'starting'])
    writeFileSync(join(folder, 'mended'), '')
    await ready
    expect(opened.engine.state()).toBe('running')
    expect(textOf(await opened.render(aWork('<p>late')))).toBe('late')
  })
})
