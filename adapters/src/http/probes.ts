/** What orchestrators and Prometheus are told of a process, from its start to the end of its drain. */
import { type ProbeOptions, serveProbes } from './probe-server.ts'

export type Health = Pick<ProbeOptions, 'isAlive' | 'isReady'>

/** Closing it ends the answers, so it is opened first: a drain that nobody can see any more would be taken for dead. */
export interface Probes extends AsyncDisposable {
  /** The service is as healthy as this says. From its disposal on it is not ready, whatever this says. */
  serving(health: Health): Disposable
}

/** Alive and not ready, until it serves. Without a port nothing listens. Rejects when the port cannot be had. */
export async function openProbes({
  port,
  ...options
}: Omit<ProbeOptions, 'port' | keyof Health> & { readonly port: number | undefined }): Promise<Probes> {
  let isServing = false
  let health: Health = { isAlive: () => true, isReady: () => ({ ready: false, detail: {} }) }
  const isReady = () => {
    const { ready, detail } = health.isReady()
    return { ready: ready && isServing, detail }
  }
  const server =
    port === undefined ? undefined : await serveProbes({ ...options, port, isAlive: () => health.isAlive(), isReady })
  return {
    serving(healthNow) {
      health = healthNow
      isServing = true
      return {
        [Symbol.dispose]() {
          isServing = false
        },
      }
    },
    [Symbol.asyncDispose]: async () => await server?.[Symbol.asyncDispose](),
  }
}
