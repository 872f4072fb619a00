/** A process that takes a lease: it says so, and from then on ten times a second whether it holds it. */
import { setInterval } from 'node:timers/promises'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { acquireLease } from '@platen/operator/cluster/lease.ts'
import { NEVER, SILENT } from '../../fixture/build.ts'

const [kubeconfig = '', namespace = '', name = ''] = process.argv.slice(2)
const say = (text: string) => process.stdout.write(`${text}\n`)
const silent = () => undefined
const clock = systemClock()
const lease = await acquireLease(
  {
    client: openClusterClient({ config: loadKubeConfig(kubeconfig), clock, meter: { requested: silent } }),
    namespace,
    name,
    identity: `process-${process.pid}`,
    epochMin: async () => 0,
    clock,
    ids: systemIds(),
    log: SILENT,
    meter: { leading: silent },
  },
  NEVER,
)
say(`taken ${lease.epoch}`)
for await (const _ of setInterval(100)) say(lease.isHeld() ? 'held' : 'lost')
