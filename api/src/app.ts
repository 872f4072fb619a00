/**
 * The HTTP API, the first half of the data flow. Fastify routes and parses HTTP. This file and those beside it decide every answer, even to
 * a broken header. The composition root listens, not `buildApp`.
 */
import { Readable } from 'node:stream'
import { keyIdOf } from '@platen/contract/domain/api-key.ts'
import { HTTP_ERRORS, type HttpErrorCode, ServiceError } from '@platen/contract/domain/error.ts'
import { HEADER_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { traceIdOf } from '@platen/contract/domain/log-fields.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { readTraceContext, type TraceContext } from '@platen/lib/trace.ts'
import type { Span } from '@platen/lib/tracer.ts'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { authenticator, callerOf } from './admission/authenticate.ts'
import { compileRequestSchema } from './admission/request.ts'
import { openAnswerBudget } from './body/answer-budget.ts'
import { openBodyBudget } from './body/body-budget.ts'
import { ANSWER_STALLED_MS_MAX, REQUEST_RECEIVE_MS_MAX } from './limit.ts'
import { describe } from './openapi.ts'
import type { ApiPorts } from './ports.ts'
import { isRefusal, problemBody, problemOf, unavailable } from './problem.ts'
import { createBatchRoute } from './route/batch/create-batch.ts'
import { getBatchRoute } from './route/batch/get-batch.ts'
import { createRenderRoute } from './route/create-render.ts'
import { deleteRenderRoute } from './route/delete-render.ts'
import { getRenderRoute } from './route/get-render.ts'
import { listAllDeliveriesRoute } from './route/list/list-all-deliveries.ts'
import { listDeliveriesRoute } from './route/list/list-deliveries.ts'
import { listRendersRoute } from './route/list/list-renders.ts'
import { listTemplatesRoute } from './route/list/list-templates.ts'
import { docsRoute } from './route/open/docs.ts'
import { healthRoutes } from './route/open/health.ts'
import { getPdfRoute } from './route/read/get-pdf.ts'
import { getTemplateRoute } from './route/read/get-template.ts'
import { getUsageRoute } from './route/read/get-usage.ts'
import { methodsByRoute, unrouted } from './route/unrouted.ts'
import { getDeliveryRoute } from './route/webhook/get-delivery.ts'
import { redeliverRoute } from './route/webhook/redeliver.ts'
import { testWebhookRoute } from './route/webhook/test-webhook.ts'
import { holdUntilSent } from './traffic/answer-end.ts'
import {
  answerEverything,
  type Connections,
  connections,
  discardingRest,
  requestIdOf,
  requireUnambiguous,
} from './traffic/connection.ts'
import { endRequestSpan, startRequestSpan } from './traffic/request-span.ts'
import { openThrottle, type Throttle, tooManyOfAddress } from './traffic/throttle.ts'
import { openWaitPlaces } from './traffic/wait-places.ts'

/** A composition root may add its own routes before it listens. */
export type ApiApp = FastifyInstance
export type { ApiPorts, ApiSettings, Readiness } from './ports.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The render that this request creates or reads, once known. */
    render: RenderId | null
    /** The requested render, after the check of the body; its lane after the limiter. */
    requested: (Pick<RenderRecord, 'template' | 'engine' | 'mode'> & Partial<Pick<RenderRecord, 'lane'>>) | null
    errorCode: HttpErrorCode | null
    /** The parent span for everything that this request causes. */
    trace: TraceContext | undefined
    /** Absent for routes without a key. */
    span: Span | undefined
  }
}

const API_PREFIX = '/api/v1'
const NO_QUERY = { type: 'object', additionalProperties: false, properties: {} } as const
/** How often Node looks for slow requests. With its default of 30 s they could take twice their time. */
const RECEIVE_CHECK_MS = 1000

/**
 * How long a stopping API still serves, with `Connection: close`. A request that was already on its way would otherwise meet a connection
 * that has just been closed, and its caller could not know whether it was served.
 */
const LINGER_MS = 500

/** The status in logs and metrics of a request whose caller left before the answer began. Nobody receives it; nginx uses the same. */
const CALLER_GONE_STATUS = 499

/** Refusals without a key that would only fill the log. */
const QUIET_STATUSES: readonly number[] = [HTTP_ERRORS.RATE_LIMITED.status, CALLER_GONE_STATUS]

/** For every answer: caches must not share it, and browsers must not guess its type. */
const SAFE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }

/**
 * The app is ready for `listen` or `inject`. Closing it waits for requests that are on their way or running, and then refuses new ones with
 * 503.
 */
export function buildApp(ports: ApiPorts): ApiApp {
  const { ids, clock, settings } = ports
  const throttle = openThrottle(settings.traffic, clock)
  const connectionTracker = connections(ports, throttle)
  const app = fastify({
    trustProxy: [...settings.traffic.trustedProxies],
    genReqId: (request) => requestIdOf(request.headers['x-request-id'], ids),
    requestTimeout: REQUEST_RECEIVE_MS_MAX,
    forceCloseConnections: 'idle',
    // Fastify's 503 has another format. A hook sends ours.
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: notCalled, buildSerializer: notCalled } },
    // An overlong id gets the same answer as any unissued id.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX, ignoreTrailingSlash: true },
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: REQUEST_RECEIVE_MS_MAX,
      connectionsCheckingInterval: RECEIVE_CHECK_MS,
      // Node's own refusal has no body. A hook sends ours.
      requireHostHeader: false,
    },
    clientErrorHandler: (error, socket) => connectionTracker.refuse(error, socket),
    frameworkErrors: (_error, request, reply) => {
      const error = new ServiceError('INVALID_PAYLOAD', 'The path of the request is not encoded correctly.', {
        reason: 'invalid_http',
      })
      refuse(ports, orThrottled(error, request, throttle), { request, reply })
    },
  })
  app.decorateRequest('caller', null).decorateRequest('render', null)
  app.decorateRequest('requested', null).decorateRequest('errorCode', null)
  app.decorateRequest('trace', undefined).decorateRequest('span', undefined)
  app.decorateReply('held', null)
  app.setValidatorCompiler(compileRequestSchema)
  // Types and tests make sure that answers fit. Fastify's serializer would drop fields that a schema does not name.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
  // Routes with a body read it themselves, before this.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, _payload, done) => done(null, request.body))
  app.setErrorHandler((error, request, reply) =>
    refuse(ports, orThrottled(error, request, throttle), { request, reply }),
  )
  answerEverything(app, ports)
  app.server.maxConnections = settings.traffic.connections
  addHooks(app, ports, connectionTracker)
  addRoutes(app, ports, throttle)
  return app
}

/** Fastify would load its own compilers before ours are set. */
function notCalled(): never {
  throw new Error('both compilers are set')
}

function addHooks(app: FastifyInstance, { clock, log, meter, tracer }: ApiPorts, connectionTracker: Connections): void {
  const methods = methodsByRoute(app)
  app.addHook('onRoute', (route) => {
    const { url: path, method } = route
    // An unknown parameter is a mistake of the caller.
    if (path.startsWith(`${API_PREFIX}/`)) route.schema = { querystring: NO_QUERY, ...route.schema }
    for (const each of [method].flat()) meter.routed({ path, method: each })
  })
  app.addHook('onRequest', async (request, reply) => {
    connectionTracker.track(request, reply)
    const startedAt = clock.monotonic()
    holdUntilSent(reply, { [Symbol.dispose]: () => tell(request, reply, clock.monotonic() - startedAt) })
    const isTraced = request.routeOptions.url?.startsWith(API_PREFIX) === true
    request.span = isTraced ? startRequestSpan(tracer, request) : undefined
    request.trace = isTraced ? request.span?.context : readTraceContext(request.headers)
    reply.headers({ 'x-request-id': request.id, ...SAFE_HEADERS })
    requireUnambiguous(request.raw)
    // Not in a not-found handler: before that, Fastify would parse the body of a request that matches no route.
    if (request.is404) throw unrouted(request, methods)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    // Node resets the timeout after the answer.
    reply.raw.setTimeout(ANSWER_STALLED_MS_MAX, () => reply.raw.destroy())
    // Fastify destroys a stream only if it began to send it.
    if (payload instanceof Readable) holdUntilSent(reply, { [Symbol.dispose]: () => payload.destroy() })
    return discardingRest(request, reply, { payload, clock })
  })
  // Not `onResponse`, which Fastify does not call if the caller has left.
  const tell = (request: FastifyRequest, reply: FastifyReply, durationMs: number) => {
    const { method, caller, requested } = request
    const { url: path } = request.routeOptions
    const status = reply.raw.headersSent ? reply.statusCode : CALLER_GONE_STATUS
    const traceId = tracer.exportedTraceId(request.trace)
    meter.answered({ path, method }, { status, durationMs, traceId })
    const fields = {
      method,
      route: path,
      status,
      durationMs: Math.round(durationMs),
      errorCode: request.errorCode ?? undefined,
      ...fieldsOf(request),
      environment: caller?.key.environment,
      keyId: caller === null ? undefined : keyIdOf(caller.key.hash),
      render: request.render ?? undefined,
      template: requested?.template.code,
      engine: requested?.engine,
      mode: requested?.mode,
      lane: requested?.lane,
      isDelivered: reply.raw.writableFinished,
    }
    const isQuiet = caller === null && (status < 400 || QUIET_STATUSES.includes(status))
    // Only ended spans are exported: requests without a key must not fill their queue.
    if (!isQuiet && request.span !== undefined) endRequestSpan(request.span, request, status)
    if (isQuiet) log.debug(fields, 'request answered')
    else log.info(fields, 'request answered')
  }
}

function addRoutes(app: FastifyInstance, ports: ApiPorts, throttle: Throttle): void {
  const { settings, clock, meter } = ports
  const answers = openAnswerBudget(meter)
  const waitPlaces = openWaitPlaces(settings.traffic, meter)
  let isDraining = false
  let isClosing = false
  app.addHook('preClose', async () => {
    isDraining = true
    waitPlaces.close()
    if (app.server.listening) await clock.sleep(LINGER_MS, new AbortController().signal)
    isClosing = true
  })
  // A connection kept alive after its last answer would delay the drain until it idles out.
  app.addHook('onSend', async (_request, reply) => {
    if (isDraining) reply.header('connection', 'close')
  })
  describe(app, settings.brand)
  app.register(
    async (api) => {
      const authenticate = authenticator(settings.brand, ports)
      api.addHook('onRequest', async (request) => {
        if (isClosing) throw unavailable()
        request.caller = authenticate(request.raw)
      })
      const limits = { throttle, budget: openBodyBudget(meter) }
      createRenderRoute(api, ports, { ...limits, answers })
      createBatchRoute(api, ports, limits)
      api.register(async (others) => {
        others.addHook('onRequest', async (request) => throttle.request(callerOf(request).key.hash))
        getRenderRoute(others, ports, waitPlaces)
        getBatchRoute(others, ports)
        deleteRenderRoute(others, ports)
        listRendersRoute(others, ports)
        listTemplatesRoute(others, ports)
        listDeliveriesRoute(others, ports)
        listAllDeliveriesRoute(others, ports)
        getDeliveryRoute(others, ports)
        redeliverRoute(others, ports)
        testWebhookRoute(others, ports)
        getUsageRoute(others, ports)
        getTemplateRoute(others, ports)
        getPdfRoute(others, { ports, answers, places: waitPlaces })
      })
    },
    { prefix: API_PREFIX },
  )
  app.register(async (root) => {
    healthRoutes(root, { ...ports, throttle, isDraining: () => isDraining })
    docsRoute(root, throttle)
  })
}

/** If a refused request has no valid key and its address had too many of those, the answer is a rate limit. */
function orThrottled(error: unknown, { caller, ip }: FastifyRequest, throttle: Throttle): unknown {
  if (caller !== null || !isRefusal(error) || throttle.chargeAddress(ip)) return error
  return tooManyOfAddress()
}

function fieldsOf({ id: requestId, trace, caller }: FastifyRequest): object {
  return { requestId, traceId: traceIdOf(trace), tenant: caller?.tenant.id }
}

/** Logs the error when an operator must know. */
function refuse(
  { log, meter }: ApiPorts,
  error: unknown,
  exchange: { request: FastifyRequest; reply: FastifyReply },
): void {
  const { request, reply } = exchange
  const problem = problemOf(error)
  meter.refused(problem)
  request.errorCode = problem.code
  const fields = { ...fieldsOf(request), err: problem.incident }
  if (problem.code === 'INTERNAL_ERROR' && problem.incident !== undefined)
    log.error(fields, 'request failed by a defect')
  else if (problem.incident !== undefined) log.warn(fields, 'request could not be served')
  reply
    .code(problem.status)
    .headers({ 'x-request-id': request.id, ...SAFE_HEADERS, ...problem.headers })
    .type('application/json; charset=utf-8')
    .send(problemBody(problem, request.id))
}
