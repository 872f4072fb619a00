/** Faults of a cluster under load, in groups. Each group is one trial. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAIM_LEASE_MS } from '@platen/renderer/worker/limit.ts'
import { IS_LONG } from '../../../run/form.ts'
import { type Disturbance, refusalOfS3 } from '../../../topology/proxy/fault-proxy.ts'
import { DEPLOYABLES, type Rig, SERVERS, VICTIMS, type Victim, wipe } from '../rig/rig.ts'
import { STEPS, type Step } from './step.ts'
import type { Trial } from './trial.ts'

export interface Ground {
  readonly rig: Rig
  readonly trial: Trial
  readonly random: () => number
  readonly signal: AbortSignal
}

export interface Fault {
  readonly name: string
  readonly run: (ground: Ground) => Promise<void>
}

export interface Group {
  readonly name: string
  /** Processes of each deployable. */
  readonly copies: number
  readonly faults: readonly Fault[]
}

/** Longer than the claim of a stopped renderer lasts. */
const STOP_MS = Math.ceil((4 / 3) * CLAIM_LEASE_MS)
/** Longer than calls to a server are retried. Also longer than the one second until a process notices a shifted clock. */
const AWAY_MS = IS_LONG ? 5000 : 2500
const FLUSH_EVERY_MS = IS_LONG ? 5000 : 2500
const FLUSHES = 4
const RESETS = 5
const SLOW_MS = 1500
const LOST = 3
const HOUR_S = 3600
const ROUNDS = 5

/** Kills each deployable and each server at each step of a render. */
const kills = VICTIMS.map((victim) => ({
  name: `kill ${victim}`,
  copies: 1,
  faults: STEPS.map((step) => killAt(step, victim)),
}))

/** Kills a victim while a render is at a step, and starts it again. */
export function killAt(step: Step, victim: Victim): Fault {
  return { name: `kill ${victim} ${step.name}`, run: ({ trial }) => trial.kill(step, victim) }
}

const stops: Group = {
  name: 'stop',
  copies: 1,
  faults: VICTIMS.map((victim) => ({
    name: `stop ${victim} for ${(STOP_MS / 1000).toFixed(1)} s`,
    run: ({ rig, trial }) =>
      trial.outage(async () => {
        const processes = rig.processes(victim)
        for (const each of processes) each.pause()
        await sleep(STOP_MS)
        for (const each of processes) each.resume()
      }),
  })),
}

const network: Group = {
  name: 'network',
  copies: 1,
  faults: [
    ...DEPLOYABLES.flatMap((name) => SERVERS.map((server) => resets(name, server))),
    ...DEPLOYABLES.map((name) => ({
      name: `${LOST} produce responses of ${name} lost`,
      run: ({ rig, trial }: Ground) => trial.outage(() => loseAnswers(rig, name)),
    })),
  ],
}

function resets(name: (typeof DEPLOYABLES)[number], server: (typeof SERVERS)[number]): Fault {
  return {
    name: `connections of ${name} to ${server} reset`,
    run: ({ rig, trial, random }) =>
      trial.outage(async () => {
        for (let times = 0; times < RESETS; times++) {
          rig.proxy(name, server).reset()
          await sleep(1000 * random())
        }
      }),
  }
}

async function loseAnswers(rig: Rig, name: (typeof DEPLOYABLES)[number]): Promise<void> {
  const proxy = rig.proxy(name, 'kafka')
  for (let lost = 0; lost < LOST; lost++) {
    const { promise, resolve } = Promise.withResolvers<void>()
    proxy.disturb({ kind: 'lose', request: /^kafka:0 /, happened: resolve })
    await promise
  }
}

const flushes: Group = {
  name: 'flush',
  copies: 1,
  faults: [
    {
      name: `FLUSHALL ${FLUSHES} times, every ${FLUSH_EVERY_MS / 1000} s`,
      run: ({ rig, trial }) =>
        trial.outage(async () => {
          for (let times = 0; times < FLUSHES; times++) {
            await wipe(rig)
            await sleep(FLUSH_EVERY_MS)
          }
        }),
    },
  ],
}

const storage: Group = {
  name: 's3',
  copies: 1,
  faults: [
    disturbed('S3 answers 503', { kind: 'refuse', answer: refusalOfS3('503 Slow Down', 'SlowDown') }),
    disturbed('the disk of S3 is full', {
      kind: 'refuse',
      answer: refusalOfS3('507 Insufficient Storage', 'XMinioStorageFull'),
    }),
    disturbed(`S3 answers ${SLOW_MS} ms late`, { kind: 'slow', ms: SLOW_MS }),
  ],
}

function disturbed(name: string, disturbance: Disturbance): Fault {
  return {
    name,
    run: ({ rig, trial }) =>
      trial.outage(async () => {
        const proxies = DEPLOYABLES.map((each) => rig.proxy(each, 's3'))
        for (const proxy of proxies) proxy.disturb(disturbance)
        await sleep(AWAY_MS)
        for (const proxy of proxies) proxy.disturb(undefined)
      }),
  }
}

/** With a wrong clock nothing is down, so no refusal is excused. */
const clocks: Group = {
  name: 'clock',
  copies: 1,
  faults: DEPLOYABLES.flatMap((name) =>
    [HOUR_S, -HOUR_S].map((seconds) => ({
      name: `the clock of ${name} jumps by ${seconds / HOUR_S} h, and back`,
      async run({ rig }: Ground) {
        if (rig.shiftClock === undefined) throw new Error('libfaketime is missing')
        await rig.shiftClock(name, seconds)
        await sleep(AWAY_MS)
        await rig.shiftClock(name, 0)
        await sleep(AWAY_MS)
      },
    })),
  ),
}

/** A rollout takes an API process out of service first, as Kubernetes does. Only the servers, which have one process each, are down. */
const rolling: Group = {
  name: 'roll',
  copies: 2,
  faults: Array.from({ length: ROUNDS }, (_, round) => ({
    name: `rolling restart ${round + 1} of everything`,
    async run({ rig, trial }: Ground) {
      for (const name of DEPLOYABLES) {
        for (const each of rig.processes(name)) await trial.withoutCalls(each, () => restart(each))
      }
      for (const server of SERVERS) {
        await trial.outage(async () => {
          for (const each of rig.processes(server)) await restart(each)
        })
      }
    },
  })),
}

async function restart(process: ReturnType<Rig['processes']>[number]): Promise<void> {
  const code = await process.stop()
  if (code !== 0 && code !== null && code !== 143) throw new Error(`a process that was told to stop ended with ${code}`)
  await process.start()
}

/** All groups. */
export const GROUPS: readonly Group[] = [...kills, stops, network, flushes, storage, clocks, rolling]
