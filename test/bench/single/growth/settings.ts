/** What a request costs an API process that has the settings of ten tenants, or of a hundred thousand; and of templates. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Figure } from '../../measure.ts'
import type { Holding } from './holder.ts'
import { grouped, rounded, tableOf } from './table.ts'

/** The settings that are held. Each tenant has one key. */
const SIZES = [
  { tenants: 10, templates: 2 },
  { tenants: 1000, templates: 2 },
  { tenants: 100_000, templates: 2 },
  { tenants: 1, templates: 10 },
  { tenants: 1, templates: 1000 },
  { tenants: 1, templates: 20_000 },
] as const
const REQUESTS = 3000
/** The processor's caches hold less of a larger map. */
const RATIO_MAX = 2

export async function* settings(scale: number): AsyncGenerator<Figure> {
  const rows: { readonly tenants: number; readonly templates: number; readonly held: Holding }[] = []
  for (const size of SIZES) rows.push({ ...size, held: await holdingOf(size, Math.ceil(REQUESTS * scale)) })
  const head = [
    'tenants',
    'templates of each',
    'bytes of the heap',
    'CPU to accept, the template used before, ms',
    'not used lately, ms',
  ]
  const cells = rows.map(({ tenants, templates, held }) => [
    grouped(tenants),
    grouped(templates),
    grouped(held.bytes),
    rounded(held.warmMs),
    rounded(held.staleMs),
  ])
  process.stdout.write(tableOf(head, cells))
  // Ten templates are always at hand: one that was not used lately is compared where there are more than a process remembers.
  for (const [kind, most, least] of [
    ['warmMs', rows[2], rows[0]],
    ['staleMs', rows[2], rows[1]],
    ['warmMs', rows[5], rows[3]],
    ['staleMs', rows[5], rows[4]],
  ] as const) {
    const [many = Number.NaN, few = Number.NaN] = [most?.held[kind], least?.held[kind]]
    yield {
      name: `accepting, a template ${kind === 'warmMs' ? 'used before' : 'not used lately'}: ${nameOf(most)} ÷ ${nameOf(least)}`,
      detail: `${rounded(many)} ÷ ${rounded(few)} ms of CPU`,
      value: many / few,
      target: { atMost: RATIO_MAX },
    }
  }
}

function nameOf(size: { readonly tenants: number; readonly templates: number } | undefined): string {
  const { tenants = 0, templates = 0 } = size ?? {}
  return tenants === 1 ? `${grouped(templates)} templates` : `${grouped(tenants)} tenants`
}

async function holdingOf(
  size: { readonly tenants: number; readonly templates: number },
  requests: number,
): Promise<Holding> {
  const args = [size.tenants, size.templates, requests].map(String)
  const child = fork(new URL('holder.ts', import.meta.url), args, { env: { ...process.env, NODE_ENV: 'production' } })
  const exited = once(child, 'exit')
  const [holding] = (await once(child, 'message')) as [Holding]
  child.disconnect()
  await exited
  return holding
}
