/** The span of a request, with the attributes that OpenTelemetry's conventions have for HTTP servers. */
import type { Span, Tracer } from '@platen/contract/port/tracer.ts'
import { readTraceContext } from '@platen/contract/trace.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { SPAN_PATH_CHARS_MAX } from './limit.ts'

/** Starts the span of a request of a known route. Its parent is the span of the caller, if it sent a valid one. */
export function startRequestSpan(tracer: Tracer, request: FastifyRequest): Span {
  const { method, routeOptions, id, protocol } = request
  const [path = ''] = request.url.split('?', 1)
  return tracer.start(`${method} ${routeOptions.url}`, {
    kind: 'server',
    parent: readTraceContext(request.headers),
    attributes: {
      'http.request.method': method,
      'http.route': routeOptions.url,
      'url.scheme': protocol,
      'url.path': path.slice(0, SPAN_PATH_CHARS_MAX),
      'platen.request_id': id,
    },
  })
}

/** Ends the span of a request that was answered. Only what is our fault is an error of a server. */
export function endRequestSpan(span: Span, { caller, render }: FastifyRequest, { statusCode }: FastifyReply): void {
  span.end({
    error: statusCode >= 500 ? `${statusCode}` : undefined,
    attributes: {
      'http.response.status_code': statusCode,
      'platen.tenant': caller?.tenant.id,
      'platen.render': render ?? undefined,
    },
  })
}
