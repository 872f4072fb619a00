/** `make node`: a real node with the chart installed on it, until Ctrl-C. */
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archiveOf, IMAGES, imageOf, PAUSE } from './machine/image.ts'
import { startNode } from './machine/node.ts'
import { addressOf, installProfile, installRelease, SMALL } from './release.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)

const deployed = IMAGES.filter((name) => name !== 'platen').map(imageOf)
say('starting a node')
const node = await startNode([PAUSE, ...deployed].map((name) => archiveOf(name, tmpdir())))
installProfile(node)
say('installing the chart')
await installRelease(node, SMALL)
// By a name that can be typed.
const kubeconfig = join(tmpdir(), 'kubeconfig')
copyFileSync(await node.kube.kubeconfig('admin'), kubeconfig)
say(`
export KUBECONFIG=${kubeconfig}
The API is ${await addressOf(node, 'platen-api')}; Pods and Services are reached from this machine.
It stays until Ctrl-C, and leaves nothing behind.`)
await once(process, 'SIGINT')
process.exit(0)
