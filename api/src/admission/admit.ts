/**
 * The steps of admission that call no store, in their order. A request that one step refuses costs nothing in the next, and a request with
 * several faults reports the first. The result is the record of a render; only the queue makes it a render. The next steps are the claim of
 * the `Idempotency-Key` and the limiter.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import { INLINE_DATA_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { inputKey, labelsOf, type Mode, monthOf, type RenderRecord } from '@platen/contract/domain/render.ts'
import { mintRenderId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/domain/render-id.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { encodeRequest } from '@platen/contract/domain/stored-request.ts'
import type { Template, Tenant } from '@platen/contract/domain/tenant.ts'
import { inlineData } from '@platen/contract/stored/record-text.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import { bytesOf, type ParsedRequest, type RequestData } from '../body/check/parse-request.ts'
import type { ApiPorts } from '../ports.ts'
import { type Caller, scopeOf } from './authenticate.ts'
import { requireFit } from './data.ts'
import { modeOf, webhookUrlOf } from './request.ts'
import { findTemplate, requireEngine } from './template.ts'

interface AdmissionRequest {
  readonly caller: Caller
  readonly body: ParsedRequest
  readonly requestId: string
  readonly trace: TraceContext | undefined
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

export interface Admission {
  /** The limiter decides its lane later. */
  readonly record: RenderRecord
  /** Data too large for the record, or a stored request. Store it at `record.data.stored` before the record is queued. */
  readonly input?: Uint8Array
}

/** Decides on a request and creates the id of the render. Calls no store. Throws the catalogued code of the step that refused. */
export async function admit(request: AdmissionRequest, ports: ApiPorts): Promise<Admission> {
  const { body, signal } = request
  const mode = modeOf(body)
  const choice = choose(request, ports)
  await requireFit(choice.template, body.data, { checks: ports.checks, signal })
  return recordOf(request, ports, { mode, ...choice })
}

/** What the head of a request decides for each of its renders. */
interface RenderChoice {
  readonly template: Template
  readonly engine: Engine
  readonly webhookUrl: string | undefined
}

type Asked<Body> = Omit<AdmissionRequest, 'body' | 'signal'> & { readonly body: Body }
type Chosen = Pick<ParsedRequest, 'template' | 'engine' | 'webhook_url'>

/** The steps of admission that do not depend on the data. */
export function choose({ caller, body }: Pick<Asked<Chosen>, 'caller' | 'body'>, ports: ApiPorts): RenderChoice {
  const { tenant } = caller
  const webhookUrl = webhookUrlOf(body, { tenant, policy: ports.settings.webhooks })
  requireActive(tenant)
  const template = findTemplate(ports.directory.current(), tenant, body.template)
  const engine = body.engine ?? template.engine
  requireEngine(engine, { limits: tenant.limits, template, status: ports.engineStatus(engine) })
  return { template, engine, webhookUrl }
}

export function requireActive({ suspended, suspendedReason }: Tenant): void {
  if (!suspended) return
  const reason = suspendedReason === undefined ? '' : `: ${suspendedReason}`
  throw new ServiceError('PAYMENT_REQUIRED', `The subscription is suspended${reason}.`, { reason: 'suspended' })
}

function recordOf(
  request: AdmissionRequest,
  ports: ApiPorts,
  { mode, ...choice }: RenderChoice & { readonly mode: Mode },
): Admission {
  const { caller, body } = request
  const now = ports.clock.now()
  const id = mintRenderId(scopeOf(caller), ports.keys(), { now, random: ports.ids.random(RENDER_ID_RANDOM_BYTES) })
  const { bucket, prefix } = caller.tenant.storage
  const common = commonOf(request, choice, now)
  const inline = common.requestData === undefined ? inlineOf(body.data) : undefined
  const record: RenderRecord = {
    id,
    mode,
    lane: mode,
    data: inline ?? { stored: { bucket, key: inputKey(prefix, id) } },
    ...common,
  }
  if (inline !== undefined) return { record }
  const bytes = bytesOf(body.data)
  return { record, input: common.requestData === undefined ? bytes : encodeRequest(bytes, record) }
}

/** Undefined if the data is too large for the record. Data of a small body never is. */
function inlineOf(data: RequestData): RenderRecord['data'] | undefined {
  if ('value' in data) return { inline: data.value }
  return data.bytes.length <= INLINE_DATA_BYTES_MAX ? inlineData(data.bytes) : undefined
}

export function commonOf(
  { caller, body, requestId, trace }: Asked<Omit<ParsedRequest, 'data'>>,
  { template, engine, webhookUrl }: RenderChoice,
  now: Instant,
): Omit<RenderRecord, 'id' | 'mode' | 'lane' | 'data'> {
  const { tenant, key } = caller
  return {
    tenant: tenant.id,
    account: tenant.account,
    environment: key.environment,
    engine,
    template: { code: template.code, version: template.version, digest: template.digest },
    ...(tenant.limits.requestData === 'Stored' && { requestData: 'Stored' }),
    options: body.options ?? {},
    deadlineMs: tenant.limits.renderTimeoutSeconds * 1000,
    javascriptEnabled: tenant.limits.javascriptEnabled,
    ...((tenant.limits.strict === true || template.strict === true) && { strict: true }),
    storage: tenant.storage,
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...labelsOf(body),
    requestId,
    ...(trace !== undefined && { trace }),
    acceptedAt: now,
    units: unitsOf(engine, caller),
    period: monthOf(now),
    retentionDays: tenant.limits.retentionDays,
  }
}

/** The price of a render in units of the monthly quota. The sandbox is free. */
export function unitsOf(engine: Engine, { tenant, key }: Caller): number {
  if (key.environment === 'test') return 0
  return engine === 'html' ? tenant.limits.htmlEngineRenderMultiplier : 1
}
