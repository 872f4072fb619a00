/** The span of a request, with the attributes of OpenTelemetry's conventions for HTTP servers. */

import { readTraceContext } from '@platen/lib/trace.ts'
import type { Span, Tracer } from '@platen/lib/tracer.ts'
import type { FastifyRequest } from 'fastify'

/** Characters of a path in a span: the longest path of ours with the longest id, and room for a wrong one. */
const SPAN_PATH_CHARS_MAX = 256

/** For requests of known routes. The parent is the span of the caller, if it sent a valid one. */
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

/** Only our own faults are errors of the span. */
export function endRequestSpan(span: Span, { caller, render }: FastifyRequest, status: number): void {
  span.end({
    error: status >= 500 ? `${status}` : undefined,
    attributes: {
      'http.response.status_code': status,
      'platen.tenant': caller?.tenant.id,
      'platen.render': render ?? undefined,
    },
  })
}
