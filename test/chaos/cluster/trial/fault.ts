/**
 * Faults of a cluster under load, in groups. Each group is one trial. A fault that is seen only while it lasts ends when the metric of its
 * signal has moved.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAIM_LEASE_MS } from '@platen/renderer/worker/limit.ts'
import { IS_LONG } from '../../../run/form.ts'
import { type Disturbance, FULL_DISK_OF_S3, refusalOfS3 } from '../../../topology/proxy/fault-proxy.ts'
import { DEPLOYABLES, isServer, type Rig, SERVERS, VICTIMS, type Victim, wipe } from '../rig/rig.ts'
import type { SignalName } from '../signal/signal.ts'
import { STEPS, type Step } from './step.ts'
import type { Trial } from './trial.ts'

export interface Ground {
  readonly rig: Rig
  readonly trial: Trial
  readonly random: () => number
  /** Resolves when the metric of the fault's signal has moved, or has not moved for long. */
  readonly noticed: () => Promise<void>
  readonly signal: AbortSignal
}

export interface Deed {
  readonly name: string
  /** How the fault is seen from outside; absent if nobody looks. */
  readonly signal?: SignalName
  readonly run: (ground: Ground) => Promise<void>
}

export interface Fault extends Deed {
  readonly signal: SignalName
}

export interface Group {
  readonly name: string
  /** Processes of each deployable. */
  readonly copies: number
  readonly faults: readonly Fault[]
}

/** Longer than the claim of a stopped renderer lasts. */
const STOP_MS = Math.ceil((4 / 3) * CLAIM_LEASE_MS)
/** At least; longer than calls to a server are retried. Also longer than the one second until a process notices a shifted clock. */
const AWAY_MS = IS_LONG ? 5000 : 2500
const FLUSH_EVERY_MS = IS_LONG ? 5000 : 2500
const FLUSHES = 4
const RESETS = 5
const SLOW_MS = 1500
const LOST = 3
const HOUR_S = 3600
const ROUNDS = 5

const AWAY = {
  kafka: 'Kafka is killed or stands still',
  redis: 'Redis is killed or stands still',
  s3: 'S3 is killed or stands still',
} as const satisfies Record<(typeof SERVERS)[number], SignalName>

const RESET = {
  kafka: 'connections to Kafka are reset, or its responses are lost',
  redis: 'connections to Redis are reset',
  s3: 'connections to S3 are reset',
} as const satisfies Record<(typeof SERVERS)[number], SignalName>

/** Kills each deployable and each server at each step of a render. */
const kills = VICTIMS.map((victim) => ({
  name: `kill ${victim}`,
  copies: 1,
  faults: STEPS.map((step) => killAt(step, victim)),
}))

export function killAt(step: Step, victim: Victim): Fault {
  return {
    name: `kill ${victim} ${step.name}`,
    signal: isServer(victim) ? AWAY[victim] : 'a process is killed',
    run: ({ trial, noticed }) => trial.kill(step, victim, isServer(victim) ? noticed : undefined),
  }
}

const stops: Group = {
  name: 'stop',
  copies: 1,
  faults: VICTIMS.map((victim) => ({
    name: `stop ${victim} for ${(STOP_MS / 1000).toFixed(1)} s`,
    signal: isServer(victim) ? AWAY[victim] : 'a process stands still',
    run: ({ rig, trial, noticed }) =>
      trial.outage(async () => {
        const processes = rig.processes(victim)
        for (const each of processes) each.pause()
        await sleep(STOP_MS)
        // A process that stands still answers nothing until it goes on.
        if (isServer(victim)) await noticed()
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
      signal: RESET.kafka,
      run: ({ rig, trial }: Ground) => trial.outage(() => loseAnswers(rig, name)),
    })),
  ],
}

function resets(name: (typeof DEPLOYABLES)[number], server: (typeof SERVERS)[number]): Fault {
  return {
    name: `connections of ${name} to ${server} reset`,
    signal: RESET[server],
    run: ({ rig, trial, random, noticed }) =>
      trial.outage(async () => {
        const state = { isNoticed: false }
        const noticing = noticed().finally(() => {
          state.isNoticed = true
        })
        // A process that uses a server rarely may have no connection at the moment.
        for (let times = 0; times < RESETS || !state.isNoticed; times++) {
          rig.proxy(name, server).reset()
          await sleep(1000 * random())
        }
        await noticing
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
      signal: 'Redis loses everything',
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
    disturbed({
      name: 'S3 answers 503',
      signal: 'S3 refuses all requests',
      by: { kind: 'refuse', answer: refusalOfS3('503 Slow Down', 'SlowDown') },
    }),
    disturbed({
      name: 'the disk of S3 is full',
      signal: 'S3 takes no writes, because its disk is full',
      by: FULL_DISK_OF_S3,
    }),
    disturbed({ name: `S3 answers ${SLOW_MS} ms late`, signal: 'S3 is slow', by: { kind: 'slow', ms: SLOW_MS } }),
  ],
}

function disturbed({ name, signal, by }: Omit<Fault, 'run'> & { readonly by: Disturbance }): Fault {
  return {
    name,
    signal,
    run: ({ rig, trial, noticed }) =>
      trial.outage(async () => {
        const proxies = DEPLOYABLES.map((each) => rig.proxy(each, 's3'))
        for (const proxy of proxies) proxy.disturb(by)
        await sleep(AWAY_MS)
        await noticed()
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
      signal: 'a clock jumps' as const,
      async run({ rig, noticed }: Ground) {
        if (rig.shiftClock === undefined) throw new Error('libfaketime is missing')
        await rig.shiftClock(name, seconds)
        await sleep(AWAY_MS)
        await noticed()
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
    signal: 'all processes are restarted one after the other' as const,
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

export const GROUPS: readonly Group[] = [...kills, stops, network, flushes, storage, clocks, rolling]
