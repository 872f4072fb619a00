/** The program behind `make node`: runs a real node with the chart installed, until Ctrl-C. */
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNodeWithImages } from './installed.ts'
import { addressOf, installRelease } from './release.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)

say('starting a node')
const node = await startNodeWithImages()
say('installing the chart')
await installRelease(node)
// A short path that is easy to type.
const kubeconfig = join(tmpdir(), 'kubeconfig')
copyFileSync(await node.kube.kubeconfig('admin'), kubeconfig)
say(`
export KUBECONFIG=${kubeconfig}
The API is ${await addressOf(node, 'platen-api')}, and Prometheus' metrics are on port 9090 of each pod: this machine reaches both.
It stays until Ctrl-C, and leaves nothing behind.`)
await once(process, 'SIGINT')
process.exit(0)
