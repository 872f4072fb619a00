/** The shared servers of a run. They belong to all tests: no test may stop, break or configure them. */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { inject } from 'vitest'
import type { RunServerFacts, RunServerName } from '../run/run-servers.ts'
import { emptyKube } from './cluster/kube.ts'
import { type KubeApi, kubeApi } from './server/kube.ts'

/** Prefix of all names that this test file creates on shared servers. */
const FILE = `t${randomBytes(4).toString('hex')}`
let kafka: Promise<RunServerFacts['kafka']> | undefined
let prefixes = 0

/** The first test that asks starts it. */
export function kafkaOfRun(): Promise<RunServerFacts['kafka']> {
  kafka ??= ask('kafka')
  return kafka
}

/** An API server with our kinds and roles and no resources. Only this file uses it until it is disposed of. */
export async function borrowKube(): Promise<KubeApi & AsyncDisposable> {
  const facts = await ask('kube')
  const kube = kubeApi(facts)
  return {
    ...kube,
    async [Symbol.asyncDispose]() {
      await emptyKube(kube)
      await fetch(`${inject('runServers')}/free`, { method: 'POST', body: JSON.stringify(facts) })
    },
  }
}

/** The caller removes its topics with `removeTopics`. */
export function freeTopicPrefix(): string {
  return `${FILE}-${++prefixes}.`
}

export async function removeTopics(broker: string, used: readonly string[]): Promise<void> {
  if (used.length === 0) return
  await withAdmin(broker, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => used.some((prefix) => topic.startsWith(prefix)))
    if (topics.length > 0) await admin.deleteTopics({ topics })
  })
}

/** What this file has left there. */
export async function leftOnRunServers(): Promise<readonly string[]> {
  if (kafka === undefined) return []
  const { broker } = await kafka
  return await withAdmin(broker, async (admin) => {
    for (let looks = 0; ; looks++) {
      const left = (await admin.listTopics()).filter((topic) => topic.startsWith(FILE))
      if (left.length === 0 || looks === LOOKS_MAX) return left.map((topic) => `topic ${topic}`)
      await sleep(LOOK_EVERY_MS)
    }
  })
}

/** A broker lists removed topics until it learns of their removal. */
const LOOKS_MAX = 100
const LOOK_EVERY_MS = 100

type Admin = ReturnType<Kafka['admin']>

async function withAdmin<T>(broker: string, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}

async function ask<Name extends RunServerName>(name: Name): Promise<RunServerFacts[Name]> {
  const answer = await fetch(`${inject('runServers')}/${name}`)
  const body = await answer.text()
  if (!answer.ok) throw new Error(`${name} of the run: ${body}`)
  // `openRunServers` sends this answer.
  return JSON.parse(body) as RunServerFacts[Name]
}
