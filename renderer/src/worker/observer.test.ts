import { ServiceError } from '@platen/contract/domain/error.ts'
import type { SpanOptions, Tracer } from '@platen/lib/tracer.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { aWorker } from '../../../test/fixture/render/work.ts'

/** A tracer that remembers how its spans ended: by their first end, as spans do. */
function anObservingTracer() {
  const ended = new Map<string, string | undefined>()
  const tracer: Tracer = {
    start(name: string, { parent }: SpanOptions) {
      const end: ReturnType<Tracer['start']>['end'] = ({ error } = {}) => {
        if (!ended.has(name)) ended.set(name, error)
      }
      return { context: parent, end, [Symbol.dispose]: end }
    },
    exportedTraceId: () => undefined,
  }
  return { tracer, ended }
}

test.for([
  ['fails', 'template_error'],
  ['succeeds', undefined],
] as const)('the spans of an attempt that %s name the code of its failure: %s', async ([how, code]) => {
  const { tracer, ended } = anObservingTracer()
  const make = async () => {
    if (how === 'fails') throw new ServiceError('template_error', 'the template is wrong')
    return Buffer.from('%PDF')
  }
  const worker = await aWorker(make, [aRecord()], { tracer })
  await worker.runUntil(() => true)
  expect([ended.get('render'), ended.get('process render.react_pdf.async')]).toEqual([code, code])
  expect([...ended.keys()].toSorted()).toEqual([
    'process render.react_pdf.async',
    'queue',
    'render',
    'send render.events',
    'store',
  ])
})
