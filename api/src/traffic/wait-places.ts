/**
 * Places for callers that wait for the end of a render. Each waiting caller holds a connection, and a process has a limited number of them.
 * Most stay free for requests that do not wait, and no account takes the places of all others.
 */
import type { TrafficLimits } from '@platen/contract/domain/limit.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import { WAITS_OF_ACCOUNT_SHARE, WAITS_SHARE } from './limit.ts'

export interface WaitPlaces {
  /** Takes a place for a caller of this account, until it is disposed. Undefined if none is free, or if the process is stopping. */
  readonly take: (account: string) => WaitPlace | undefined
  readonly close: () => void
}

interface WaitPlace extends Disposable {
  /** Aborts when the process stops. */
  readonly closing: AbortSignal
}

/** The number of places is a share of the connections. */
export function openWaitPlaces({ connections }: TrafficLimits, meter: Pick<ApiMeter, 'awaitingEnd'>): WaitPlaces {
  const placesMax = Math.floor(connections * WAITS_SHARE)
  const placesOfAccountMax = Math.ceil(connections * WAITS_OF_ACCOUNT_SHARE)
  const byAccount = new Map<string, Set<AbortController>>()
  let taken = 0
  let isClosed = false
  return {
    take(account) {
      const own = byAccount.get(account) ?? new Set()
      if (isClosed || taken >= placesMax || own.size >= placesOfAccountMax) return undefined
      const place = new AbortController()
      byAccount.set(account, own.add(place))
      taken += 1
      const metered = meter.awaitingEnd()
      return {
        closing: place.signal,
        [Symbol.dispose]() {
          if (!own.delete(place)) return
          if (own.size === 0) byAccount.delete(account)
          taken -= 1
          metered[Symbol.dispose]()
        },
      }
    },
    close() {
      isClosed = true
      for (const own of byAccount.values()) for (const place of own) place.abort()
    },
  }
}
