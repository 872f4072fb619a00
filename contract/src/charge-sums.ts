/** What accounts are charged in a month: in all, by template, and by day. In memory, without I/O. */
import { CHARGED_TEMPLATES_MAX } from './limit.ts'
import type { ChargeCount, LimitReport } from './port/limiter.ts'
import type { Manifest } from './render.ts'

/** Charges of an account in a month. A version before `template` and `day` recorded some without them. */
export interface Charge {
  readonly account: string
  readonly period: string
  readonly renders: number
  readonly units: number
  readonly template?: string
  /** Of acceptance, such as `05`. */
  readonly day?: string
}

/** The charge of a render, or undefined if it is free: it failed, or it belongs to the sandbox. */
export function chargeOf({ render, outcome }: Manifest): Required<Charge> | undefined {
  if (outcome.status === 'failed' || render.units === 0) return undefined
  const { account, period, units, template, acceptedAt } = render
  const day = new Date(acceptedAt).toISOString().slice('yyyy-mm-'.length, 'yyyy-mm-dd'.length)
  return { account, period, renders: 1, units, template: template.code, day }
}

export interface ChargeSums {
  add(charge: Charge): void
  units(account: string, period: string): number
  counts(account: string, period: string): Pick<LimitReport, 'templates' | 'days'>
}

/** Opens sums with these charges. */
export function openChargeSums(charged: Iterable<Charge>): ChargeSums {
  const months = new Map<string, Month>()
  // No part contains a space.
  const monthOf = (account: string, period: string) => months.get(`${account} ${period}`)
  const sums: ChargeSums = {
    add(charge) {
      const { account, period, template, day } = charge
      const month = monthOf(account, period) ?? { units: 0, templates: new Map(), days: new Map() }
      months.set(`${account} ${period}`, month)
      month.units += charge.units
      if (template !== undefined) count(month.templates, { ...charge, name: template, max: CHARGED_TEMPLATES_MAX })
      if (day !== undefined) count(month.days, { ...charge, name: day, max: DAYS_MAX })
    },
    units: (account, period) => monthOf(account, period)?.units ?? 0,
    counts(account, period) {
      const { templates = new Map(), days = new Map() } = monthOf(account, period) ?? {}
      const byName = ({ name: a }: ChargeCount, { name: b }: ChargeCount) => (a < b ? -1 : 1)
      return { templates: listOf(templates), days: listOf(days).toSorted(byName) }
    },
  }
  for (const charge of charged) sums.add(charge)
  return sums
}

const DAYS_MAX = 31

interface Month {
  units: number
  readonly templates: Counts
  readonly days: Counts
}

/** Name → what is charged under it. */
type Counts = Map<string, Omit<ChargeCount, 'name'>>

function count(counts: Counts, { name, renders, units, max }: ChargeCount & { readonly max: number }): void {
  const before = counts.get(name)
  if (before === undefined && counts.size === max) return
  counts.set(name, { renders: (before?.renders ?? 0) + renders, units: (before?.units ?? 0) + units })
}

function listOf(counts: Counts): readonly ChargeCount[] {
  return [...counts].map(([name, sums]) => ({ name, ...sums }))
}
