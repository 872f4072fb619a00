/** The service itself: the embedded topology, which stores each PDF before it answers. */
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { startMeasured, syncRenders } from '../../bench/service.ts'
import { type Peer, SLOTS } from '../peer.ts'

export function platen(engine: Engine): Peer {
  return {
    name: `platen-${engine}`,
    title: `Platen, ${engine}`,
    ...(engine === 'html' && { browser: 'shell' }),
    async start() {
      const service = await startMeasured(SLOTS)
      return { ...syncRenders(service, engine), [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
    },
  }
}
