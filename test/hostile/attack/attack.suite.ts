/**
 * Runs the corpus as production runs renders: engines as `openEngines` opens them, the deadline as the worker sets it, the outcome
 * as the worker judges it. Each attack has to end as it says. Right after it the same slot makes a small document of another
 * tenant, which must come out byte for byte as it did before any attack: so whatever one leaves behind in a thread or a page shows.
 */
import { readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { RenderEngine } from '@platen/renderer/port/engine.ts'
import { classifyError, crashed } from '@platen/renderer/worker/classify-error.ts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { textOf } from '../../engine/html/html-fixture.ts'
import { NEVER } from '../../fixture/build.ts'
import { third } from '../../run/form.ts'
import { type Attack, attacksOn, type Ending } from './attack.ts'
import { type Footprint, footprint } from './footprint.ts'
import { HONEST_TEXT, type Opened, openBesideHonest } from './honest.ts'

const RESTING_LOOKS = 8
const LOOK_EVERY_MS = 250
/** What the heaviest attacks may leave beyond what all have left before: less than any one of them takes. */
const GAIN_MIB_MAX = 200

/** Threads that a pool of two has more of once they were needed: it begins with one, and has one to spare. */
const POOL_GROWTH = 2

/** A browser that has lost a page's process has another one for the next page. */
const SPARE_PROCESS = 1

const HEAVIEST = [
  'SANDBOX_MEMORY_BYTES_MAX',
  'SANDBOX_TREE_CHARS_MAX',
  'RENDER_THREAD_HEAP_MIB_MAX',
  'PAGE_MEMORY_BYTES_MAX',
  'HTML_BYTES_MAX',
  'messages that copy what they carry',
]

interface Ended {
  readonly ending: Ending
  /** The message of the failure, or the text of the PDF. */
  readonly text: string
}

async function attempt(engine: RenderEngine, { work, deadlineMs }: Attack): Promise<Ended> {
  const asked = work()
  const deadline = AbortSignal.timeout(deadlineMs)
  try {
    const { pdf } = await engine.render(asked, deadline)
    return { ending: 'renders', text: textOf(pdf) }
  } catch (error) {
    const verdict = classifyError(error, { deadline, callerGone: NEVER, claimLost: NEVER, canceled: NEVER }, deadlineMs)
    if (verdict.kind === 'lost') throw error
    const { code, message } = verdict.kind === 'failed' ? verdict.error : crashed(1)
    return { ending: code, text: message }
  }
}

/** The footprint when nothing becomes less any more. Left to itself V8 keeps what an ended thread had for eight seconds. */
async function rest(): Promise<Footprint> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  let least = footprint()
  for (let looks = 0; looks < RESTING_LOOKS; looks += 1) {
    collect()
    await setTimeout(LOOK_EVERY_MS)
    const now = footprint()
    if (
      now.memoryMib < least.memoryMib - 10 ||
      now.threads.length < least.threads.length ||
      now.processes < least.processes
    )
      looks = 0
    least = now
  }
  return least
}

/** Declares the tests of a third of the attacks on an engine, and of the heaviest; in the long form of all. Each engine has a file of its own. */
export function describeAttacks(name: Engine): void {
  const corpus = attacksOn(name)
  const isHeavy = (attack: Attack) => HEAVIEST.includes(attack.name)
  const chosen = new Set(third(corpus.flatMap(([, list]) => list)))
  const isTried = (attack: Attack) => chosen.has(attack) || isHeavy(attack)
  const attacks = corpus
    .map(([kind, list]) => [kind, list.filter(isTried)] as const)
    .filter(([, list]) => list.length > 0)
  let opened: Opened
  let base: Footprint

  beforeAll(async () => {
    opened = await openBesideHonest(name)
    expect(textOf(opened.first)).toBe(HONEST_TEXT)
    base = await rest()
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  async function endsWell(attack: Attack): Promise<void> {
    const { ending, text } = await attempt(opened.engine, attack)
    expect(attack.ends, `${ending}: ${text}`).toContain(ending)
    if (ending === 'renders') {
      expect(text).toContain(attack.prints)
      if (attack.lacks !== undefined) expect(text).not.toContain(attack.lacks)
    } else if (ending !== 'render_timeout' && attack.says.length > 0) {
      expect(
        attack.says.filter((words) => text.includes(words)),
        text,
      ).not.toEqual([])
    }
    expect(await opened.isSame(), 'the document of the next tenant is the same as before').toBe(true)
  }

  describe.for(attacks)('%s', ([, attacks]) => {
    test.for(attacks)('$name', endsWell)
  })

  test('keeps no memory, thread, process or folder of its attacks', async () => {
    const heaviest = attacks.flatMap(([, list]) => list.filter(isHeavy))
    expect(heaviest.length).toBeGreaterThan(2)
    // All have been made once by now.
    const { memoryMib } = await rest()
    for (const attack of heaviest) await endsWell(attack)
    await vi.waitFor(
      () => {
        const now = footprint()
        expect(now.memoryMib).toBeLessThan(memoryMib + GAIN_MIB_MAX)
        expect(now.threads.length, now.threads.join()).toBeLessThanOrEqual(base.threads.length + POOL_GROWTH)
        expect(now.processes.length, now.processes.join()).toBeLessThanOrEqual(base.processes.length + SPARE_PROCESS)
        expect(readdirSync(opened.profileDir).filter((entry) => entry !== 'font').length).toBeLessThanOrEqual(1)
      },
      { timeout: 60_000, interval: 500 },
    )
  })
}
