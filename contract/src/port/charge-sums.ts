/** Charges of accounts per month: in all, by template, and by day. In memory, without I/O. */
import { CHARGED_TEMPLATES_MAX } from '../domain/limit.ts'
import type { RenderEnd } from '../domain/render.ts'
import type { ChargeCount, LimitReport } from './limiter.ts'

/** Of one render. */
export interface Charge {
  readonly account: string
  readonly period: string
  readonly units: number
  readonly template: string
  /** Day of acceptance, such as `05`. */
  readonly day: string
}

/** The sum of a month, of a template or of a day. The name of the first is empty. */
export interface ChargeSum extends ChargeCount {
  readonly account: string
  readonly period: string
  readonly kind: 'all' | 'template' | 'day'
}

/** Undefined if the render is free: it failed, or it belongs to the sandbox. */
export function chargeOf({ kind, render, outcome }: RenderEnd): Charge | undefined {
  if (kind !== 'ended' && kind !== 'removed') return undefined
  if (outcome.status === 'failed' || render.units === 0) return undefined
  const { account, period, units, template, acceptedAt } = render
  const day = new Date(acceptedAt).toISOString().slice('yyyy-mm-'.length, 'yyyy-mm-dd'.length)
  return { account, period, units, template: template.code, day }
}

interface ChargeSums {
  add(charge: Charge): void
  units(account: string, period: string): number
  counts(account: string, period: string): Pick<LimitReport, 'templates' | 'days'>
}

export function openChargeSums(charged: Iterable<ChargeSum>): ChargeSums {
  const months = new Map<string, Month>()
  const add = ({ account, period, kind, ...counted }: ChargeSum) => {
    // No part contains a space.
    const name = `${account} ${period}`
    const month = months.get(name) ?? { units: 0, template: new Map(), day: new Map() }
    months.set(name, month)
    if (kind === 'all') month.units += counted.units
    else count(month[kind], counted, MAX[kind])
  }
  const monthOf = (account: string, period: string) => months.get(`${account} ${period}`)
  for (const sum of charged) add(sum)
  return {
    add({ template, day, ...charge }) {
      add({ ...charge, kind: 'all', name: '', renders: 1 })
      add({ ...charge, kind: 'template', name: template, renders: 1 })
      add({ ...charge, kind: 'day', name: day, renders: 1 })
    },
    units: (account, period) => monthOf(account, period)?.units ?? 0,
    counts(account, period) {
      const { template = new Map(), day = new Map() } = monthOf(account, period) ?? {}
      const byName = ({ name: a }: ChargeCount, { name: b }: ChargeCount) => (a < b ? -1 : 1)
      return { templates: listOf(template), days: listOf(day).toSorted(byName) }
    },
  }
}

const MAX = { template: CHARGED_TEMPLATES_MAX, day: 31 }

interface Month {
  units: number
  readonly template: Counts
  readonly day: Counts
}

/** Charges by the name of a template or day. */
type Counts = Map<string, Omit<ChargeCount, 'name'>>

function count(counts: Counts, { name, renders, units }: ChargeCount, max: number): void {
  const before = counts.get(name)
  if (before === undefined && counts.size === max) return
  counts.set(name, { renders: (before?.renders ?? 0) + renders, units: (before?.units ?? 0) + units })
}

function listOf(counts: Counts): readonly ChargeCount[] {
  return [...counts].map(([name, sums]) => ({ name, ...sums }))
}
