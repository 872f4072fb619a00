/**
 * The W3C Recommendation "Trace Context": the trace of a piece of work, and its parent span. A caller sends it in two headers, a render
 * carries it through the queue, the outcome and the event, and a webhook has it again. All of it comes from callers, so invalid parts are
 * ignored, as the recommendation demands: they never refuse a request.
 */

/** Both fields are header values, so a context can be spread into headers. */
export interface TraceContext {
  /** Valid: `00-<trace id>-<span id>-<flags>`, lower-case hex. */
  readonly traceparent: string
  /** For tracing systems of the caller. At most `TRACESTATE_CHARS_MAX` printable characters. */
  readonly tracestate?: string
}

/** As Node has them: several of one name are joined by commas. */
type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Every system must be able to pass on this many. Each waiting render keeps them. */
export const TRACESTATE_CHARS_MAX = 512
export const TRACESTATE_MEMBERS_MAX = 32

/** The fields of version 00. A later version may append more, after a dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const TRACESTATE_KEY = /^[a-z0-9][a-z0-9_*/-]{0,255}(@[a-z][a-z0-9_*/-]{0,13})?$/
const TRACESTATE_VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
const SAMPLED = 0x01
/** Sampled and random. A sender must not set undefined flags. */
const KNOWN_FLAGS = 0x03

interface SpanId {
  readonly traceId: string
  readonly spanId: string
  /** Whether the sender keeps this trace. */
  readonly isSampled: boolean
}

/** Undefined if the request has no valid context. An invalid `tracestate` is dropped by itself. */
export function readTraceContext({ traceparent, tracestate }: TraceHeaders): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (isZero(traceId) || isZero(spanId)) return undefined
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0')
  const state = typeof tracestate === 'string' && isTracestate(tracestate) ? { tracestate } : {}
  return { traceparent: `00-${traceId}-${spanId}-${known}`, ...state }
}

function isZero(hex: string): boolean {
  return /^0+$/.test(hex)
}

function isTracestate(text: string): boolean {
  if (text.length > TRACESTATE_CHARS_MAX) return false
  const members = text.split(',').map((member) => member.trim())
  const keys = members.filter((member) => member !== '').map(keyOf)
  const isEachOnce = new Set(keys).size === keys.length
  return keys.length > 0 && keys.length <= TRACESTATE_MEMBERS_MAX && isEachOnce && !keys.includes(undefined)
}

/** Undefined if the member is invalid. */
function keyOf(member: string): string | undefined {
  const [key = '', value = '', ...others] = member.split('=')
  return TRACESTATE_KEY.test(key) && TRACESTATE_VALUE.test(value) && others.length === 0 ? key : undefined
}

export function spanIdOf({ traceparent }: TraceContext): SpanId {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

export function traceContextOf({ traceId, spanId, isSampled }: SpanId, tracestate: string | undefined): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
  return tracestate === undefined || tracestate === '' ? { traceparent } : { traceparent, tracestate }
}
