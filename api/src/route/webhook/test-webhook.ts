/**
 * POST /webhooks/test: sends one signed test event to a URL, and tells what became of it.
 *
 * Only the events processes can open webhook secrets and may call receivers. So the test is a delivery like any other: this process writes
 * it into the delivery log, and reads there what the attempt brought. It is never repeated, costs no units and is in no list. No event
 * tells retention of it, so this process writes it into the expiry index first.
 */
import type { JsonObject } from '@platen/contract/brand.ts'
import type { Delivery, DeliveryRecord } from '@platen/contract/delivery.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { EVENT_ID_RANDOM_BYTES, TEST_EVENT, testEventOf } from '@platen/contract/event.ts'
import { dayOf, expiryObjectOf } from '@platen/contract/expiry.ts'
import { mintRenderId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/render-id.ts'
import { type TestEventRequest, testEventRequestSchema } from '@platen/contract/schema/render-request.ts'
import { type DeliveryDetail, deliveryDetailSchema } from '@platen/contract/schema/response.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireActive } from '../../admission/admit.ts'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { requireCallable } from '../../admission/request.ts'
import { parseBody, readBody } from '../../body/body.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { isUnavailable, malformed } from '../../problem.ts'
import { Throttled } from '../../traffic/throttle.ts'
import { openTokenBuckets } from '../../traffic/token-buckets.ts'
import {
  TEST_EVENT_BODY_BYTES_MAX,
  TEST_EVENT_KEPT_MS,
  TEST_EVENT_POLL_MS,
  TEST_EVENT_WAIT_MS,
  TEST_EVENTS_PER_MINUTE,
  TEST_EVENTS_TENANTS_MAX,
} from '../limit.ts'
import { detailOf } from './delivery.ts'

export function testWebhookRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { clock } = ports
  const rate = openTokenBuckets({ perMinute: TEST_EVENTS_PER_MINUTE, namesMax: TEST_EVENTS_TENANTS_MAX, clock })
  const faultsOf = compileValidator(testEventRequestSchema)

  app.post<{ Body: TestEventRequest }>(
    '/webhooks/test',
    {
      schema: description(),
      preParsing: async (request, reply) => {
        const body = parseBody(await readSmallBody(request, reply))
        const faults = faultsOf(body)
        if (faults.length > 0) throw malformed(faults)
        // The schema guarantees this type.
        request.body = body as JsonObject & TestEventRequest
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request)
      const { url } = request.body
      requireCallable(url, { tenant, policy: ports.settings.webhooks }, '/url')
      requireActive(tenant)
      const waitMs = rate.waitMs(tenant.incarnation, 1)
      if (waitMs > 0) {
        throw new Throttled(`Too many test events: ${TEST_EVENTS_PER_MINUTE} a minute are allowed for a tenant`, {
          waitMs,
        })
      }
      rate.take(tenant.incarnation, 1)
      const delivery = await schedule(request, ports)
      const record = await attempted(delivery, ports, () => reply.raw.destroyed)
      if (record.status !== 'scheduled') return await reply.send(detailOf(record))
      return await reply.code(202).header('location', `/api/v1/deliveries/${delivery.id}`).send(detailOf(record))
    },
  )
}

async function readSmallBody({ raw }: FastifyRequest, reply: FastifyReply): Promise<Uint8Array> {
  const charge = (bytes: number) => {
    if (bytes <= TEST_EVENT_BODY_BYTES_MAX) return
    throw new ServiceError('PAYLOAD_TOO_LARGE', `The body may have at most ${TEST_EVENT_BODY_BYTES_MAX} bytes.`)
  }
  const isAwaited = raw.headers.expect?.toLowerCase() === '100-continue'
  return await readBody(raw, {
    accounts: [{ charge }],
    proceed: isAwaited ? () => reply.raw.writeContinue() : undefined,
  })
}

/** Resolves when the delivery is durable, and its removal, too. */
async function schedule(request: FastifyRequest<{ Body: TestEventRequest }>, ports: ApiPorts): Promise<Delivery> {
  const { artifacts, deliveries, clock, ids, keys, settings } = ports
  const caller = callerOf(request)
  const { tenant, key } = caller
  const now = clock.now()
  const render = mintRenderId(scopeOf(caller), keys(), { now, random: ids.random(RENDER_ID_RANDOM_BYTES) })
  const delivery: Delivery = {
    ...testEventOf(now, ids.random(EVENT_ID_RANDOM_BYTES)),
    type: TEST_EVENT,
    render,
    tenant: tenant.id,
    account: tenant.incarnation,
    environment: key.environment,
    url: request.body.url,
    retriesMax: 0,
    createdAt: now,
    requestId: request.id,
    ...(request.trace !== undefined && { trace: request.trace }),
  }
  const stored = { id: render, storage: tenant.storage, account: tenant.incarnation }
  const expiry = expiryObjectOf(dayOf(now + TEST_EVENT_KEPT_MS), [stored])
  const address = { bucket: settings.serviceBucket, key: expiry.key }
  await artifacts.put(address, expiry.bytes, clock.timeout(PORT_CALL_MS_MAX))
  await deliveries.schedule([delivery], clock.timeout(PORT_CALL_MS_MAX))
  return delivery
}

/** The delivery with its attempt, or as it is when the caller has waited long enough. A log that is away for a moment is asked again. */
async function attempted(
  delivery: Delivery,
  { deliveries, clock }: ApiPorts,
  isGone: () => boolean,
): Promise<DeliveryRecord> {
  let record: DeliveryRecord = { delivery, status: 'scheduled', attempts: [] }
  const until = clock.monotonic() + TEST_EVENT_WAIT_MS
  while (record.status === 'scheduled' && clock.monotonic() < until && !isGone()) {
    await clock.sleep(TEST_EVENT_POLL_MS, new AbortController().signal)
    const found = await deliveries.find(delivery.id, clock.timeout(PORT_CALL_MS_MAX)).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error
      return undefined
    })
    record = found ?? record
  }
  return record
}

function description(): object {
  return {
    operationId: 'testWebhook',
    tags: ['webhook'],
    summary: 'Send a test event to a receiver',
    description:
      'Sends one event `webhook.test`, signed and checked like every webhook, and waits for the answer of the receiver. It is not repeated and costs nothing.',
    security: KEY_REQUIRED,
    body: {
      ...testEventRequestSchema,
      examples: [{ url: 'https://example.com/hooks/pdf' } satisfies TestEventRequest],
    },
    response: {
      200: {
        description:
          'The delivery has ended. `attempts` has the one attempt, with `result`, `status_code` and `duration_ms`.',
        headers: COMMON_HEADERS,
        ...deliveryDetailSchema,
        examples: [EXAMPLE, REFUSED],
      },
      202: {
        description: 'The attempt is not made yet, after fifteen seconds. The delivery shows it later.',
        headers: { ...COMMON_HEADERS, Location: { type: 'string', description: 'The path of the delivery.' } },
        ...deliveryDetailSchema,
        examples: [{ ...TEST, status: 'scheduled', attempts: [] } satisfies DeliveryDetail],
      },
      ...refusals('testWebhook'),
    },
  }
}

const TEST = {
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  event: 'webhook.test',
  url: 'https://example.com/hooks/pdf',
  created_at: '2026-11-21T12:00:00.412Z',
} as const
const EXAMPLE: DeliveryDetail = {
  ...TEST,
  status: 'delivered',
  attempts: [{ started_at: '2026-11-21T12:00:00.431Z', duration_ms: 42, result: 'ok', status_code: 204 }],
}
const REFUSED: DeliveryDetail = {
  ...TEST,
  status: 'exhausted',
  attempts: [
    {
      started_at: '2026-11-21T12:00:00.431Z',
      duration_ms: 87,
      result: 'status',
      status_code: 401,
      message: 'example.com answered with the status 401',
    },
  ],
}
