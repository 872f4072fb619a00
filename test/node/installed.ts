/** The node with the chart installed and the resources of a team applied. All tests of a run share it. */
import { tmpdir } from 'node:os'
import { beginLoad, type Load } from '../chaos/cluster/trial/load.ts'
import type { Scene } from '../chaos/cluster/trial/oracle.ts'
import { aReceiver, type Receiver } from '../topology/receiver.ts'
import { BRIDGE } from './machine/address.ts'
import { archiveOf, IMAGES, imageOf, PAUSE } from './machine/image.ts'
import { type KubeNode, startNode } from './machine/node.ts'
import { installProfile, installRelease } from './release.ts'
import { declareTeam, type Team } from './resource.ts'

export interface Installed {
  readonly node: KubeNode
  readonly team: Team
  /** A webhook receiver that pods can reach. It accepts every webhook. */
  readonly receiver: Receiver
  readonly scene: Scene
}

let started: Promise<Installed> | undefined

/** Starts the node at the first call. The node ends with its namespaces. */
export function installed(): Promise<Installed> {
  started ??= start()
  return started
}

async function start(): Promise<Installed> {
  const node = await startNodeWithImages()
  await installRelease(node)
  const receiver = await aReceiver(0, BRIDGE)
  return { node, team: await declareTeam(node), receiver, scene: sceneOf(node, receiver) }
}

/** Starts the load of the team: five requests a second, sync and async. */
export function beginTeamLoad({ team, receiver }: Installed): Load {
  return beginLoad({
    tenant: { name: team.tenant, key: team.key },
    url: () => team.service.url(),
    hookUrl: receiver.url,
    random: Math.random,
    // Pause of each of the five callers.
    pauseMs: 1000,
  })
}

export async function startNodeWithImages(): Promise<KubeNode> {
  const deployed = IMAGES.filter((name) => name !== 'platen').map(imageOf)
  const node = await startNode([PAUSE, ...deployed].map((name) => archiveOf(name, tmpdir())))
  installProfile(node)
  return node
}

function sceneOf({ kafka, redis, s3 }: KubeNode, { received }: Receiver): Scene {
  return {
    cluster: { broker: kafka.broker, topicPrefix: '', redis, s3 },
    get posts() {
      return received.map(({ headers, body }) => ({ deliveryId: String(headers['webhook-id']), body, status: 204 }))
    },
  }
}
