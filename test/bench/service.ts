/** The service as a contender: the embedded topology in its own process, asked over HTTP from this one. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { request } from 'undici'
import { html, key, manifestOf, plan, template, tenant, tsx, UNLIMITED } from '../fixture/manifests.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { published, type Service, type TestedService } from '../topology/service.ts'
import { HTML, invoiceData, TSX } from './invoice.ts'
import { type Contender, timed } from './measure.ts'

export const MEASURED_LIVE = `service_live_${'B'.repeat(43)}`
/** The key of a tenant whose renders are in the other's way. */
export const CROWDING_LIVE = `service_live_${'C'.repeat(43)}`

/** Starts the embedded service with the invoice as a template of two tenants. */
export async function startMeasured(slots: number, env: Record<string, string> = {}): Promise<EmbeddedService> {
  const service = await startEmbedded({ ...settingsFor(slots), ...env })
  await publishMeasured(service)
  return service
}

export function settingsFor(slots: number): Record<string, string> {
  return { PLATEN_LOG_LEVEL: 'error', PLATEN_RENDER_SLOTS: `${slots}` }
}

/** Gives a service the invoice as a template of two tenants, and what else they are to have; resolves when it is in force. */
export async function publishMeasured(service: TestedService, more: readonly object[] = []): Promise<void> {
  const invoice = { ...tsx(TSX), ...html(HTML) }
  const documents = [
    // More than a folder is filled with.
    plan('measured', { ...UNLIMITED, renderLimitMonthly: 1_000_000_000, renderTimeoutSeconds: 60 }),
    ...(['measured', 'crowding'] as const).flatMap((name) => [
      tenant(name, 'measured'),
      key(name, 'live', name === 'measured' ? MEASURED_LIVE : CROWDING_LIVE),
      template(name, 'invoice', invoice),
    ]),
    ...more,
  ]
  await writeFile(join(service.manifestsDir, 'bench.yaml'), manifestOf(documents))
  await published(service, CROWDING_LIVE, 'invoice')
}

/** Sync renders in one engine; `more` is added to each request. The service stays its opener's to close. */
export function syncRenders(service: Service & { pid?(): number }, engine: Engine, more: object = {}): Contender {
  return {
    get pids() {
      return [service.pid?.() ?? []].flat()
    },
    run: ({ rows, ...batch }) =>
      timed(batch, asking(service, { status: 200, key: MEASURED_LIVE }, { engine, data: invoiceData(rows), ...more })),
    async [Symbol.asyncDispose]() {},
  }
}

/** Async renders that are accepted, at this address; `more` is added to each request. */
export function acceptances(
  service: Pick<Service, 'url'>,
  { key = MEASURED_LIVE, ...more }: { readonly key?: string; readonly engine?: string } = {},
): Contender {
  return {
    pids: [],
    run: ({ rows, ...batch }) =>
      timed(batch, asking(service, { status: 202, key }, { mode: 'async', data: invoiceData(rows), ...more })),
    async [Symbol.asyncDispose]() {},
  }
}

/** Asks for a render of the invoice. The body is ready before, as a client would have it: what is measured is not this process. */
function asking(
  service: Pick<Service, 'url'>,
  { status, key }: { readonly status: number; readonly key: string },
  fields: object,
): () => Promise<Uint8Array> {
  const body = JSON.stringify({ template: 'invoice', ...fields })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return async () => {
    // Not by `fetch`, which takes twice the time, and of the cores on which the service works.
    const answer = await request(`${service.url()}/api/v1/render`, { method: 'POST', headers, body })
    const bytes = await answer.body.bytes()
    if (answer.statusCode !== status) throw new Error(`${answer.statusCode}: ${Buffer.from(bytes).toString()}`)
    return bytes
  }
}
