/** A Kafka whose clients all come through a proxy, which breaks a connection in the middle of a produce when it is told to. */
import { type KafkaServer, startKafka } from '../server/kafka.ts'
import { openFaultProxy } from './fault-proxy.ts'

/** Where a produce is broken off: half of the request has reached the broker, or all of it, and its answer nobody. */
export type Break = 'request' | 'answer'

export interface ProxiedKafka extends KafkaServer {
  /** Breaks the next produce off; resolves when that has happened. */
  breakNextProduce(at: Break): Promise<void>
}

const PRODUCE = /^kafka:0 /

/** Starts it. */
export async function startProxiedKafka(): Promise<ProxiedKafka> {
  const proxy = await openFaultProxy('kafka')
  const kafka = await startKafka({ proxies: [proxy.port] })
  proxy.towards(kafka.proxied[0] ?? 0)
  return {
    ...kafka,
    broker: `${kafka.host}:${proxy.port}`,
    async breakNextProduce(at) {
      const { promise, resolve } = Promise.withResolvers<void>()
      proxy.disturb({ kind: at === 'answer' ? 'lose' : 'cut', request: PRODUCE, happened: resolve })
      await promise
    },
    async [Symbol.asyncDispose]() {
      await kafka[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}
