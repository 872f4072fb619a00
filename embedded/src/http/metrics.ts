/** `GET /metrics` on a port of its own, which need not be open to callers. */
import { createServer } from 'node:http'
import type { Metrics } from '@platen/adapters/prometheus/metrics.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface MetricsOptions {
  readonly host: string
  readonly port: number
  readonly metrics: Metrics
  readonly log: Log
}

/** Listens until it is disposed. Rejects when the port cannot be had. */
export async function serveMetrics({ host, port, metrics, log }: MetricsOptions): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      (err: unknown) => {
        log.error({ err }, 'metrics could not be collected')
        response.writeHead(500).end()
      },
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  log.info({ address: server.address() }, 'metrics served')
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
