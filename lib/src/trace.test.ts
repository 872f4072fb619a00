import { describe, expect, test } from 'vitest'
import { readTraceContext, spanIdOf, TRACESTATE_CHARS_MAX, traceContextOf } from './trace.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${SPAN}-01`

test.for<[string, string, string]>([
  ['as the recommendation writes it', traceparent, traceparent],
  ['that is not sampled', `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-00`],
  ['with the flag random', `00-${TRACE}-${SPAN}-03`, `00-${TRACE}-${SPAN}-03`],
  ['with flags that nobody has defined', `00-${TRACE}-${SPAN}-fd`, `00-${TRACE}-${SPAN}-01`],
  ['of a later version', `cc-${TRACE}-${SPAN}-01`, traceparent],
  ['of a later version, with more fields', `01-${TRACE}-${SPAN}-01-what-the-future-will-be`, traceparent],
])('a traceparent %s is read', ([, sent, read]) => {
  expect(readTraceContext({ traceparent: sent })).toEqual({ traceparent: read })
})

test.for<[string, string | string[] | undefined]>([
  ['absent', undefined],
  ['empty', ''],
  ['sent twice', [traceparent, traceparent]],
  ['sent twice and joined', `${traceparent}, ${traceparent}`],
  ['of the version that is forbidden', `ff-${TRACE}-${SPAN}-01`],
  ['of version 00 with more fields', `${traceparent}-01`],
  ['of version 00 with a dash after it', `${traceparent}-`],
  ['of a later version with more digits', `01-${TRACE}-${SPAN}-0100`],
  ['in upper case', traceparent.toUpperCase()],
  ['with one upper-case digit', `00-${TRACE.replace('a', 'A')}-${SPAN}-01`],
  ['too short', traceparent.slice(0, -1)],
  ['without a version', traceparent.slice(3)],
  ['of a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['of a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['with spaces', ` ${traceparent}`],
  ['with a line end', `${traceparent}\n`],
  ['with another separator', traceparent.replaceAll('-', '_')],
  ['very long', `01-${TRACE}-${SPAN}-01-${'-'.repeat(100_000)}\n`],
])('a traceparent %s is ignored', ([, sent]) => {
  expect(readTraceContext({ traceparent: sent, tracestate: 'a=1' })).toBeUndefined()
})

describe('a tracestate', () => {
  const long = (chars: number) => `a=${'x'.repeat(200)},b=${'x'.repeat(200)},c=${'x'.repeat(chars - 408)}`
  const members = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=1`).join(',')

  test.for<[string, string]>([
    ['with one member', 'rojo=00f067aa0ba902b7'],
    ['with several', 'rojo=1, congo=t61rcWkgMzE,tenant@vendor=a b'],
    ['with empty members', 'rojo=1,,congo=2'],
    [`of ${TRACESTATE_CHARS_MAX} characters`, long(TRACESTATE_CHARS_MAX)],
    ['of 32 members', members(32)],
  ])('%s is kept', ([, tracestate]) => {
    expect(readTraceContext({ traceparent, tracestate })).toEqual({ traceparent, tracestate })
  })

  test.for<[string, string | string[]]>([
    ['empty', ''],
    ['with nothing but commas', ',,'],
    ['longer than every system must pass on', long(TRACESTATE_CHARS_MAX + 1)],
    ['of 33 members', members(33)],
    ['with a member twice', 'rojo=1,rojo=2'],
    ['without a value', 'rojo='],
    ['without a key', '=1'],
    ['with two equals signs', 'rojo=1=2'],
    ['with a key in upper case', 'Rojo=1'],
    ['with a line end', 'rojo=1\r\nx-injected: 1'],
    ['that is not ASCII', 'rojo=Ω'],
    ['as a list', ['rojo=1', 'congo=2']],
  ])('%s is dropped, and the trace stays', ([, tracestate]) => {
    expect(readTraceContext({ traceparent, tracestate })).toEqual({ traceparent })
  })
})

test('a context is made of its parts again', () => {
  const context = { traceparent, tracestate: 'rojo=1' }
  expect(spanIdOf(context)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true })
  expect(traceContextOf(spanIdOf(context), context.tracestate)).toEqual(context)
  expect(traceContextOf({ ...spanIdOf(context), isSampled: false }, undefined).traceparent).toMatch(/-00$/)
})
