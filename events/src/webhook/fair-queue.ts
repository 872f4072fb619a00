/**
 * Decides which call is next. A receiver that hangs delays only its own deliveries: each host of each account has a window of concurrent
 * calls, which grows while the host answers quickly, and shrinks to one call when it does not. Accounts take turns, and so do the hosts of
 * an account. If the waiting room is full, the account with most items there makes room for accounts with fewer. An account has at most as
 * many calls as all of them leave free. Nothing here waits or knows the time of day.
 */
import assert from 'node:assert/strict'
import { WEBHOOK_CALLS_MAX, WEBHOOK_CALLS_PER_HOST_MAX, WEBHOOK_DEFER_MS_MAX } from '@platen/contract/domain/limit.ts'
import type { HeldDeliveries } from '@platen/contract/port/webhook-meter.ts'
import {
  WEBHOOK_CALLS_OF_NEW_HOST,
  WEBHOOK_CALLS_PER_TENANT_MAX,
  WEBHOOK_DEFER_MS_MIN,
  WEBHOOK_HOSTS_KNOWN_MAX,
  WEBHOOK_SLOW_MS,
  WEBHOOK_WAITING_MAX,
  WEBHOOK_WAITING_PER_HOST_MAX,
} from './limit.ts'

export interface QueueKey {
  readonly account: string
  /** Scheme, name and port. */
  readonly origin: string
}

interface AccountQueue<Item> {
  calls: number
  waiting: number
  readonly hosts: Map<string, HostQueue<Item>>
  /** Hosts that may start a call, in turn order. */
  readonly ready: Set<HostQueue<Item>>
}

interface HostQueue<Item> {
  readonly account: AccountQueue<Item>
  calls: number
  /** Limit of concurrent calls. */
  window: number
  tookMs: number
  readonly waiting: Item[]
  /** Items deferred since the waiting room last had a place. */
  deferred: number
}

export class FairQueue<Item extends QueueKey> {
  readonly #accounts = new Map<string, AccountQueue<Item>>()
  /** Accounts that may start a call, in turn order. */
  readonly #ready = new Set<AccountQueue<Item>>()
  #calls = 0
  #waiting = 0
  #hosts = 0

  held(): HeldDeliveries {
    return { waiting: this.#waiting, calling: this.#calls }
  }

  /** Returns the item to defer if there is no room for all: this one, or the newest of the account with most waiting items. */
  add(item: Item): Item | undefined {
    const host = this.#hostOf(item)
    if (host.waiting.length >= WEBHOOK_WAITING_PER_HOST_MAX) return item
    const fullest =
      this.#waiting < WEBHOOK_WAITING_MAX ? undefined : maxBy(this.#accounts.values(), ({ waiting }) => waiting)
    if (fullest !== undefined && host.account.waiting + 1 >= fullest.waiting) return item
    const displaced = fullest && this.#takeNewest(fullest)
    host.waiting.push(item)
    host.deferred = 0
    this.#countWaiting(host, 1)
    return displaced
  }

  /** Returns the item whose call may start now, and counts the call as started. Undefined if no call may start. */
  next(): Item | undefined {
    const account = this.#nextAccount()
    const [host] = account?.ready ?? []
    if (account === undefined || host === undefined) return undefined
    const item = host.waiting.shift()
    assert(item !== undefined, 'a host that is ready has an item that waits')
    this.#calls += 1
    account.calls += 1
    host.calls += 1
    // `#countWaiting` adds both again, at the end of their turns.
    account.ready.delete(host)
    this.#ready.delete(account)
    this.#countWaiting(host, -1)
    return item
  }

  ended(item: Item, tookMs: number): void {
    const host = this.#hostOf(item)
    this.#calls -= 1
    host.account.calls -= 1
    host.calls -= 1
    host.tookMs = tookMs
    host.window = tookMs > WEBHOOK_SLOW_MS ? 1 : Math.min(host.window + 1, WEBHOOK_CALLS_PER_HOST_MAX)
    this.#updateReady(host)
  }

  /** For how long to defer an item that found no room: as long as the items deferred before it will take. Call it once per item. */
  deferMs(item: Item): number {
    const host = this.#hostOf(item)
    host.deferred += 1
    const ms = WEBHOOK_DEFER_MS_MIN + (host.deferred * host.tookMs) / host.window
    return Math.min(Math.ceil(ms), WEBHOOK_DEFER_MS_MAX)
  }

  /**
   * The first account in turn order that may start a call. An account without a call may start one while any calls are left. Another may
   * have as many calls as are left of the shared ones. So one account takes half of these, two accounts two thirds, and so on.
   */
  #nextAccount(): AccountQueue<Item> | undefined {
    if (this.#calls >= WEBHOOK_CALLS_MAX) return undefined
    const isWithinShare = ({ calls }: AccountQueue<Item>) => calls + this.#calls < 2 * WEBHOOK_CALLS_PER_TENANT_MAX
    return this.#ready.values().find((account) => account.calls === 0 || isWithinShare(account))
  }

  #takeNewest(account: AccountQueue<Item>): Item {
    const host = maxBy(account.hosts.values(), ({ waiting }) => waiting.length)
    const item = host?.waiting.pop()
    assert(host !== undefined && item !== undefined, 'the account with most that wait has one')
    this.#countWaiting(host, -1)
    return item
  }

  #countWaiting(host: HostQueue<Item>, added: number): void {
    this.#waiting += added
    host.account.waiting += added
    this.#updateReady(host)
  }

  #hostOf({ account: name, origin }: QueueKey): HostQueue<Item> {
    const found = this.#accounts.get(name)?.hosts.get(origin)
    if (found !== undefined) return found
    if (this.#hosts >= WEBHOOK_HOSTS_KNOWN_MAX) this.#forgetIdle()
    const account = this.#accounts.get(name) ?? { calls: 0, waiting: 0, hosts: new Map(), ready: new Set() }
    const host = { account, calls: 0, window: WEBHOOK_CALLS_OF_NEW_HOST, tookMs: 0, waiting: [], deferred: 0 }
    this.#accounts.set(name, account)
    account.hosts.set(origin, host)
    this.#hosts += 1
    return host
  }

  /** Forgets idle hosts only when there is no more room. Otherwise a host that hangs would be new again after every call. */
  #forgetIdle(): void {
    for (const [name, account] of this.#accounts) {
      for (const [origin, host] of account.hosts) {
        if (isIdle(host)) this.#hosts -= Number(account.hosts.delete(origin))
      }
      if (account.hosts.size === 0) this.#accounts.delete(name)
    }
  }

  #updateReady(host: HostQueue<Item>): void {
    const { account } = host
    setMember(account.ready, host, host.waiting.length > 0 && host.calls < host.window)
    setMember(this.#ready, account, account.ready.size > 0)
  }
}

function isIdle({ calls, waiting }: HostQueue<unknown>): boolean {
  return calls === 0 && waiting.length === 0
}

function maxBy<T>(values: Iterable<T>, sizeOf: (value: T) => number): T | undefined {
  let most: T | undefined
  for (const value of values) if (most === undefined || sizeOf(value) > sizeOf(most)) most = value
  return most
}

/** A member keeps its position in the set. */
function setMember<T>(set: Set<T>, member: T, isIn: boolean): void {
  if (isIn) set.add(member)
  else set.delete(member)
}
