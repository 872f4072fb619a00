/** Runs one tenant's callers through a series of faults, and judges the promises to them. */
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
  /** How long to wait for promises that can still be kept. Default: 3 minutes. */
  readonly patienceMs?: number
  readonly signal: AbortSignal
}

export interface Trial {
  readonly load: Load
  /** Holds the next render that reaches a step, until `away` resolves or calls `release`. Resolves when the service has recovered. */
  at(step: Step, away: (release: () => void) => Promise<void>): Promise<void>
  /**
   * Kills a victim while the next render is at a step, and starts it again after `meanwhile`, else at once. Resolves when the service has
   * recovered.
   */
  kill(step: Step, victim: Victim, meanwhile?: () => Promise<void>): Promise<void>
  /** Runs `away`, which stops something and starts it again. Refusals are excused until the service has recovered; then it resolves. */
  outage(away: () => Promise<void>): Promise<void>
  /** Runs `step` while a process gets no new calls. Resolves when it serves callers again. */
  withoutCalls(process: ServerProcess, step: () => Promise<void>): Promise<void>
  /** Stops the callers, waits for promises that can still be kept, and judges. */
  verdict(): Promise<readonly Violation[]>
}

const PATIENCE_MS = 180_000
const RECOVERY_MS_MAX = 120_000
const ASK_EVERY_MS = 250
/** Each look reads everything stored, which takes time from processes that must catch up. */
const LOOK_EVERY_MS = 1000
const OK = 200
const COMPLAINTS = 5
const COMPLAINT_CHARS = 200

/** Starts a trial with a new tenant. Resolves when its first render has succeeded. */
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
    kill: (step, victim, meanwhile) =>
      at(step, (release) =>
        killed(rig, victim, async () => {
          release()
          await meanwhile?.()
        }),
      ),
    async withoutCalls(process, step) {
      const isApi = inService.delete(process)
      await step()
      if (isApi) inService.add(process)
    },
    async verdict() {
      await load.stop()
      const deadline = performance.now() + patienceMs
      for (;;) {
        await load.poll()
        const facts = await readFacts(rig, tenant.name, signal)
        const violations = judge({ exchanges: load.exchanges, issued: load.issued(), outages, facts })
        if (!violations.some(mayStillCome) || performance.now() > deadline) return violations
        await sleep(LOOK_EVERY_MS, undefined, { signal })
      }
    },
  }
}

/** Resolves when a caller gets a PDF again. Then everything is back, and every process has noticed it. */
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

function states(rig: Rig): readonly string[] {
  return DEPLOYABLES.flatMap((name) =>
    rig.processes(name).flatMap((process) => {
      const complaints = process.log().split('\n').filter(isComplaint).slice(-COMPLAINTS)
      const shown = complaints.map((line) => line.slice(0, COMPLAINT_CHARS))
      return [`${name} ${process.isRunning() ? 'runs' : 'HAS ENDED'}`, ...shown]
    }),
  )
}

/** A dying process may also print lines that are not log records. */
function isComplaint(line: string): boolean {
  return line !== '' && !/^\{"level":"(debug|info)"/.test(line)
}
