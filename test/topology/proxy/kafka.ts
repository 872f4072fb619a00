/** A Kafka behind a proxy. On request, the proxy breaks the connection in the middle of a produce. */
import { type KafkaServer, startKafka } from '../server/kafka.ts'
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts'

/** Where a produce breaks: `request` = only half of the request reaches the broker; `answer` = the answer does not reach the client. */
export type Break = 'request' | 'answer'

export interface ProxiedKafka extends KafkaServer {
  /** `broker` leads through it, `unsecured` past it. */
  readonly proxy: FaultProxy
  /** Breaks the next produce. Resolves when that has happened. */
  breakNextProduce(at: Break): Promise<void>
}

const PRODUCE = /^kafka:0 /

export async function startProxiedKafka(): Promise<ProxiedKafka> {
  const proxy = await openFaultProxy('kafka')
  const kafka = await startKafka({ proxies: [proxy.port] })
  proxy.towards(kafka.proxied[0] ?? 0)
  return {
    ...kafka,
    proxy,
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
