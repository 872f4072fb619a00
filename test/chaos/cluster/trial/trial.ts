/** One tenant's callers through a series of faults, and the verdict on what they were promised. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../../topology/server/process.ts'
import { DEPLOYABLES, killed, type Rig, type Victim } from '../rig/rig.ts'
import { judge, mayStillCome, type Outage, type Violation } from './judge.ts'
import { beginLoad, type Load } from './load.ts'
import { readFacts } from './oracle.ts'
import type { Step } from './step.ts'

export interface TrialOptions {
  readonly rig: Rig
  readonly random: () => number
  /** How long what has to come about at last may take to; 3 minutes if absent. */
  readonly patienceMs?: number
  readonly signal: AbortSignal
}

export interface Trial {
  readonly load: Load
  /** Holds the next render that is at a step while something is done, or until that releases it. Resolves when all is well. */
  at(step: Step, away: (release: () => void) => Promise<void>): Promise<void>
  /** Kills somebody at the next render that is at a step, and starts it again. Resolves when all is well. */
  strike(step: Step, victim: Victim): Promise<void>
  /** Does what makes something be away, and undoes it, in the time of which refusals are excused. Resolves when all is well. */
  outage(away: () => Promise<void>): Promise<void>
  /** Does something while no new call goes to a process; resolves when it serves callers again. */
  withoutCalls(process: ServerProcess, step: () => Promise<void>): Promise<void>
  /** Ends the callers, waits for what is to come, and judges. */
  verdict(): Promise<readonly Violation[]>
}

const PATIENCE_MS = 180_000
const RECOVERY_MS_MAX = 120_000
const ASK_EVERY_MS = 250
/** Each look reads all that is stored, so it takes time from those who have to catch up. */
const LOOK_EVERY_MS = 1000
const OK = 200
const COMPLAINTS = 5
const COMPLAINT_CHARS = 200

/** Begins with a tenant of its own, and resolves when its first render is there. */
export async function beginTrial({ rig, random, patienceMs = PATIENCE_MS, signal }: TrialOptions): Promise<Trial> {
  const tenant = rig.tenants.next().value
  if (tenant === undefined) throw new Error('no tenant is left')
  const outages: Outage[] = []
  const inService = new Set(rig.processes('api'))
  const url = () => {
    const chosen = [...inService][Math.floor(random() * inService.size)]
    return `http://127.0.0.1:${chosen?.port}`
  }
  const load = beginLoad({ tenant, random, url, hookUrl: rig.hookUrl })

  const outage: Trial['outage'] = async (away) => {
    const own: Outage = { from: performance.now(), until: Number.POSITIVE_INFINITY }
    outages.push(own)
    await away()
    await recovered(load, rig, signal)
    own.until = performance.now()
  }
  const at: Trial['at'] = async ({ actor, server, point }, away) => {
    const held = await rig.proxy(actor, server).hold(point, signal)
    await outage(async () => {
      await away(() => held.release())
      held.release()
    })
  }
  await outage(async () => undefined)
  return {
    load,
    outage,
    at,
    strike: (step, victim) => at(step, (release) => killed(rig, victim, async () => release())),
    async withoutCalls(process, step) {
      const isApi = inService.delete(process)
      await step()
      if (isApi) inService.add(process)
    },
    async verdict() {
      await load.stop()
      const deadline = performance.now() + patienceMs
      for (;;) {
        await load.look()
        const facts = await readFacts(rig, tenant.name, signal)
        const violations = judge({ exchanges: load.exchanges, issued: load.issued(), outages, facts })
        if (!violations.some(mayStillCome) || performance.now() > deadline) return violations
        await sleep(LOOK_EVERY_MS, undefined, { signal })
      }
    },
  }
}

/** Resolves when a caller gets a PDF again: whatever was away is back, and who has to know of it knows. */
async function recovered(load: Load, rig: Rig, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + RECOVERY_MS_MAX
  for (let status = await load.probe(); status !== OK; status = await load.probe()) {
    if (performance.now() > deadline) {
      const complaint = load.exchanges.findLast(({ kind }) => kind === 'sync')?.complaint ?? ''
      throw new Error(['the service did not come back', `${status} ${complaint}`, ...states(rig)].join('\n'))
    }
    await sleep(ASK_EVERY_MS, undefined, { signal })
  }
}

/** Who runs, and what each has complained of last. */
function states(rig: Rig): readonly string[] {
  return DEPLOYABLES.flatMap((name) =>
    rig.processes(name).flatMap((process) => {
      const complaints = process.log().split('\n').filter(isComplaint).slice(-COMPLAINTS)
      const shown = complaints.map((line) => line.slice(0, COMPLAINT_CHARS))
      return [`${name} ${process.isRunning() ? 'runs' : 'HAS ENDED'}`, ...shown]
    }),
  )
}

/** Beside the lines of the log there may be what a process says as it dies. */
function isComplaint(line: string): boolean {
  return line !== '' && !/^\{"level":"(debug|info)"/.test(line)
}
