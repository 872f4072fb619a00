import type { Clock } from '../clock.ts'
import type { Call, CallOptions, Transport } from '../transport.ts'

export interface Service {
  readonly send: Transport
  /** Turns a path below `/api/v1` into a URL. */
  readonly url: (path: string) => string
  readonly brand: string
  readonly clock: Clock
}

export interface RenderCallOptions extends CallOptions {
  /** A second call with the same key within 24 hours gets the same render or batch. Absent = a new key for each call. */
  readonly idempotencyKey?: string
}

export function getCall(url: string, call: CallOptions = {}) {
  return { ...call, method: 'GET', url, isRepeatable: true } as const satisfies Omit<Call<unknown>, 'read'>
}

export function startCall(url: string, body: unknown, { idempotencyKey, ...call }: RenderCallOptions = {}) {
  return {
    ...call,
    method: 'POST',
    url,
    // With this key the service renders once, however often the request arrives.
    idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
    body,
    isRepeatable: true,
  } as const satisfies Omit<Call<unknown>, 'read'>
}
