/**
 * POST /webhooks/test: sends one signed test event to a URL, and reports the result.
 *
 * Only the events processes can open webhook secrets and may call receivers. So the test is a delivery like any other: this process writes
 * it into the delivery log, and reads the result of the attempt there. It is never repeated, costs no units and is in no list. No event
 * tells retention of it, so this process writes it into the expiry index first.
 */

import type { Delivery, DeliveryRecord } from '@platen/contract/domain/delivery.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { EVENT_ID_RANDOM_BYTES, TEST_EVENT, testEventOf } from '@platen/contract/domain/event.ts'
import { mintRenderId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/domain/render-id.ts'
import { type TestEventRequest, testEventRequestSchema } from '@platen/contract/schema/render-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { dayOf, expiryObjectOf } from '@platen/contract/stored/expiry.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireActive } from '../../admission/admit.ts'
import { callerOf, scopeOf } from '../../admission/authenticate.ts'
import { requireCallable } from '../../admission/request.ts'
import { parseBody, readBody } from '../../body/body.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { isUnavailable, malformed } from '../../problem.ts'
import { Throttled } from '../../traffic/throttle.ts'
import { openTokenBuckets } from '../../traffic/token-buckets.ts'
import { TEST_EVENT_KEPT_MS, TEST_EVENT_WAIT_MS, TEST_EVENTS_PER_MINUTE } from '../limit.ts'
import { detailOf } from './delivery.ts'
import { testWebhookSchema } from './test-webhook.schema.ts'

/** How often the delivery log is read while the caller waits. */
export const TEST_EVENT_POLL_MS = 200

/** Tenants whose test events of the last minute an API process counts. Each takes about 200 bytes. */
const TEST_EVENTS_TENANTS_MAX = 10_000

/** Room for the longest URL in any encoding, and so little that it is parsed at once. */
const TEST_EVENT_BODY_BYTES_MAX = 16 * 1024

export function testWebhookRoute(app: FastifyInstance, ports: ApiPorts): void {
  const { clock } = ports
  const rate = openTokenBuckets({ perMinute: TEST_EVENTS_PER_MINUTE, namesMax: TEST_EVENTS_TENANTS_MAX, clock })
  const faultsOf = compileValidator(testEventRequestSchema)

  app.post<{ Body: TestEventRequest }>(
    '/webhooks/test',
    {
      schema: testWebhookSchema(),
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
      const waitMs = rate.waitMs(tenant.account, 1)
      if (waitMs > 0) {
        throw new Throttled(`Too many test events: ${TEST_EVENTS_PER_MINUTE} a minute are allowed for a tenant`, {
          waitMs,
        })
      }
      rate.take(tenant.account, 1)
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
    payers: [{ charge }],
    proceed: isAwaited ? () => reply.raw.writeContinue() : undefined,
  })
}

/** Resolves when the delivery and its expiry are durable. */
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
    account: tenant.account,
    environment: key.environment,
    url: request.body.url,
    retriesMax: 0,
    createdAt: now,
    requestId: request.id,
    ...(request.trace !== undefined && { trace: request.trace }),
  }
  const stored = { id: render, storage: tenant.storage, account: tenant.account }
  const expiry = expiryObjectOf(dayOf(now + TEST_EVENT_KEPT_MS), [stored])
  const address = { bucket: settings.serviceBucket, key: expiry.key }
  await artifacts.put(address, expiry.bytes, clock.timeout(PORT_CALL_MS_MAX))
  await deliveries.schedule([delivery], clock.timeout(PORT_CALL_MS_MAX))
  return delivery
}

/** The delivery with its attempt, or its current state when the caller has waited long enough. An unavailable log is asked again. */
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
