import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { BROWSER_IDLE_MS_MAX } from '@platen/renderer/browser/limit.ts'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SILENT } from '../../fixture/build.ts'
import { aFolder } from '../../fixture/lifetime.ts'
import { membersOf } from '../../soak/process-tree.ts'
import { anEngine, aWork, BUSY, browsersOf, ENDLESS, textOf } from './html-fixture.ts'

/** Processes and folders go in their own time, which says nothing of how they go. */
const PATIENCE = { timeout: 60_000, interval: 50 }

async function waitFor(check: () => void): Promise<void> {
  await vi.waitFor(check, PATIENCE)
}

/** The main process of the one browser of an engine. */
async function theBrowser(profileDir: string) {
  await waitFor(() => expect(browsersOf(profileDir)).toHaveLength(1))
  const [browser] = browsersOf(profileDir)
  if (browser === undefined) throw new Error('the browser has gone')
  return browser
}

function renderers(group: number) {
  return membersOf(group).filter(({ command }) => command.includes('--type=renderer'))
}

/** Begins so many renders that go on until they are ended, and waits until Chromium is at work on them. */
async function endlessRenders(opened: Opened, count: number) {
  const controller = new AbortController()
  const { group } = await theBrowser(opened.profileDir)
  const renders = Array.from({ length: count }, () =>
    opened.render(aWork(ENDLESS, { tenant: 'endless' }), controller.signal),
  )
  // Each test looks at the rejections in its own time.
  for (const render of renders) render.catch(() => undefined)
  const busy = () => renderers(group).filter(({ busy }) => busy >= BUSY)
  await waitFor(() => expect(busy()).toHaveLength(count))
  return { renders, pids: busy().map(({ pid }) => pid), group, abort: () => controller.abort(new Error('deadline')) }
}

type Opened = Awaited<ReturnType<typeof anEngine>>

describe('an aborted render', () => {
  test('rejects with the reason of its signal, and its slot and its processor are free again', async () => {
    await using opened = await anEngine({ slots: 1 })
    const { renders, pids, group, abort } = await endlessRenders(opened, 1)
    abort()
    await expect(renders[0]).rejects.toThrow('deadline')
    expect(textOf(await opened.render(aWork('<p>next')))).toBe('next')
    expect(renderers(group).filter(({ pid }) => pids.includes(pid))).toEqual([])
    expect(browsersOf(opened.profileDir).map(({ pid }) => pid)).toEqual([group])
  })

  test('ends at once when it was aborted before', async () => {
    await using opened = await anEngine()
    await expect(opened.render(aWork('<p>x'), AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })

  test('leaves the other slot to its render', async () => {
    await using opened = await anEngine({ slots: 2 })
    const { renders, abort } = await endlessRenders(opened, 1)
    const others = Array.from({ length: 5 }, (_, index) => opened.render(aWork(`<p>${index}`)))
    expect((await Promise.all(others)).map(textOf)).toEqual(['0', '1', '2', '3', '4'])
    abort()
    await expect(renders[0]).rejects.toThrow('deadline')
  })
})

describe('a browser without documents', () => {
  /** Its wait for the next document is as long as the test says. */
  function aRestingClock() {
    const clock = systemClock()
    let rest = Promise.withResolvers<void>()
    const sleep: Clock['sleep'] = (ms, signal) =>
      ms === BROWSER_IDLE_MS_MAX ? raceAbort(rest.promise, signal) : clock.sleep(ms, signal)
    return {
      clock: { ...clock, sleep },
      rest: () => {
        rest.resolve()
        rest = Promise.withResolvers()
      },
    }
  }

  test('ends with all its processes, the engine goes on as running, and the next documents come out alike', async () => {
    const { clock, rest } = aRestingClock()
    await using opened = await anEngine({ clock })
    const work = aWork('<p>before and after')
    const before = await opened.render(work)
    const { group } = await theBrowser(opened.profileDir)
    rest()
    await waitFor(() => expect(membersOf(group)).toEqual([]))
    await waitFor(() => expect(readdirSync(opened.profileDir)).toEqual(['font']))
    expect(opened.engine.state()).toBe('running')
    const [after, other] = await Promise.all([
      opened.render(work),
      opened.render(aWork('<p>other', { tenant: 'other' })),
    ])
    expect(Buffer.compare(after, before)).toBe(0)
    expect(textOf(other)).toBe('other')
    expect((await theBrowser(opened.profileDir)).group).not.toBe(group)
  })

  test('ends also if it was still starting when nobody needed it any more, and is not launched again by itself', async () => {
    const { clock, rest } = aRestingClock()
    const opened = await anEngine({ clock })
    await theBrowser(opened.profileDir)
    await waitFor(() => {
      rest()
      expect(readdirSync(opened.profileDir)).toEqual(['font'])
    })
    rest()
    expect(browsersOf(opened.profileDir)).toEqual([])
    await opened[Symbol.asyncDispose]()
    expect(browsersOf(opened.profileDir)).toEqual([])
  })
})

describe('a crash', () => {
  test('of the browser fails its renders with render_crashed when those of their own crash too, and the next ones come out', async () => {
    await using opened = await anEngine({ slots: 2 })
    const { renders, group } = await endlessRenders(opened, 2)
    process.kill(group, 'SIGKILL')
    const isAtWork = (own: number) => renderers(own).some(({ busy }) => busy >= BUSY)
    const atWork = () => browsersOf(opened.profileDir).filter((own) => own.group !== group && isAtWork(own.group))
    await waitFor(() => expect(atWork()).toHaveLength(2))
    for (const own of atWork()) process.kill(own.group, 'SIGKILL')
    for (const render of renders) await expect(render).rejects.toMatchObject({ code: 'render_crashed' })
    expect(textOf(await opened.render(aWork('<p>next')))).toBe('next')
    await waitFor(() => expect(membersOf(group)).toEqual([]))
  })

  test('of the page fails its render with render_crashed, and its slot works again', async () => {
    await using opened = await anEngine({ slots: 1 })
    const { renders, pids, group } = await endlessRenders(opened, 1)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await expect(renders[0]).rejects.toMatchObject({ code: 'render_crashed' })
    expect(textOf(await opened.render(aWork('<p>next')))).toBe('next')
    expect(browsersOf(opened.profileDir).map(({ pid }) => pid)).toEqual([group])
  })
})

describe('a browser', () => {
  test('that does not start is tried again, and the render that waits for it comes out', async () => {
    const folder = aFolder()
    const executablePath = join(folder, 'chromium')
    writeFileSync(executablePath, '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const failed = Promise.withResolvers<void>()
    const log = { ...SILENT, error: () => failed.resolve() }
    await using opened = await anEngine({ executablePath, log, slots: 1 })
    const render = opened.render(aWork('<p>late'))
    await failed.promise
    writeFileSync(executablePath, `#!/bin/sh\nexec ${await findChromium({})} "$@"\n`)
    expect(textOf(await render)).toBe('late')
  })

  test('retires after its documents when the next one runs, and no render fails by it', async () => {
    await using opened = await anEngine({ slots: 2, browserRendersMax: 4, pageRendersMax: 2 })
    const first = await theBrowser(opened.profileDir)
    const works = Array.from({ length: 12 }, (_, index) =>
      aWork(`<p>${index}`, { tenant: index % 3 === 0 ? 'a' : 'b' }),
    )
    const pdfs = await Promise.all(works.map((work) => opened.render(work)))
    expect(pdfs.map(textOf)).toEqual(works.map((_, index) => `${index}`))
    await waitFor(() => expect(membersOf(first.group)).toEqual([]))
    expect(textOf(await opened.render(aWork('<p>next')))).toBe('next')
    await waitFor(() =>
      expect(readdirSync(opened.profileDir).filter((name) => name.startsWith('browser-'))).toHaveLength(1),
    )
  })

  test('has a process for the page of a tenant and one for the next tenant, and none for a page that nobody uses', async () => {
    await using opened = await anEngine({ slots: 1 })
    await opened.render(aWork('<p>x'))
    const { group } = await theBrowser(opened.profileDir)
    await waitFor(() => expect(renderers(group)).toHaveLength(2))
  })

  test('leaves no process and no profile behind when its engine closes', async () => {
    const profileDir = aFolder()
    mkdirSync(join(profileDir, 'browser-of-an-earlier-process'))
    const opened = await anEngine({ profileDir, slots: 1 })
    await opened.render(aWork('<p>x'))
    expect(readdirSync(profileDir)).not.toContain('browser-of-an-earlier-process')
    const { renders, group } = await endlessRenders(opened, 1)
    const waiting = opened.render(aWork('<p>x'))
    renders.push(waiting)
    waiting.catch(() => undefined)
    await opened.engine[Symbol.asyncDispose]()
    for (const render of renders) await expect(render).rejects.toMatchObject({ code: 'render_crashed' })
    await waitFor(() => expect(membersOf(group)).toEqual([]))
    expect(readdirSync(profileDir)).toEqual(['font'])
    await expect(opened.render(aWork('<p>x'))).rejects.toMatchObject({ code: 'render_crashed' })
  })

  test('ends by itself when its service is killed', async () => {
    const profileDir = aFolder()
    const service = spawn(process.execPath, [join(import.meta.dirname, 'html-parent.ts'), profileDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void service.kill('SIGKILL'))
    await once(service.stdout, 'data')
    const { group } = await theBrowser(profileDir)
    service.kill('SIGKILL')
    await once(service, 'exit')
    await waitFor(() => expect(membersOf(group)).toEqual([]))
  })
})
