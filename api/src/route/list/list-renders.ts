/** GET /renders: the caller's renders in its environment. */
import type { ServiceError } from '@platen/contract/domain/error.ts'
import { labelsOf, STATUSES, type Status } from '@platen/contract/domain/render.ts'
import { verifyBatchId } from '@platen/contract/domain/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import type { ListedRender, RenderQuery } from '@platen/contract/port/render-list.ts'
import { type RenderPage, renderPageSchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import type { ApiPorts } from '../../ports.ts'
import { malformed } from '../../problem.ts'
import { timeOf } from '../get-render.ts'
import { type CommonQuery, listRoute } from './list-route.ts'

interface Query extends CommonQuery {
  readonly status?: Status
  readonly engine?: Engine
  readonly batch?: string
}

export function listRendersRoute(app: FastifyInstance, ports: ApiPorts): void {
  listRoute<Query, Pick<RenderQuery, 'status' | 'engine' | 'batch'>>(app, ports, {
    path: '/renders',
    operation: {
      operationId: 'listRenders',
      tags: ['render'],
      summary: 'List renders',
      description:
        'The renders of the tenant in the environment of the key that are still kept, the newest first. Filters apply together. A sync render is listed once it has ended.',
    },
    words: { entries: 'Renders', source: 'request', accepted: 'Renders' },
    filters: {
      status: { title: 'RenderStatus', type: 'string', enum: STATUSES },
      engine: { title: 'Engine', type: 'string', enum: ENGINES, description: 'The engine that renders.' },
      batch: {
        type: 'string',
        pattern: '^[0-9A-Za-z-]{26,36}$',
        description: 'The `batch_id` of a batch: only its renders.',
      },
    },
    filtersOf({ status, engine, batch: text }, { scope }) {
      const batch = text === undefined ? undefined : verifyBatchId(text, scope, ports.keys())
      if (text !== undefined && batch === undefined) throw unknownBatch()
      return {
        ...(batch !== undefined && { batch }),
        ...(status !== undefined && { status }),
        ...(engine !== undefined && { engine }),
      }
    },
    cursorOf({ status, template, engine, reference, batch, since, before }) {
      const filters = [status, template, engine, reference, since, before]
      return batch === undefined ? filters : [...filters, batch]
    },
    async page(query, signal) {
      const { renders, ...rest } = await ports.list.page(query, signal)
      return { ...rest, body: { renders: renders.map(entryOf) } }
    },
    answer: { ...renderPageSchema, examples: [EXAMPLE] },
  })
}

function unknownBatch(): ServiceError {
  return malformed([
    { in: 'query', path: 'batch', message: 'must be the id of a batch of this tenant and environment' },
  ])
}

function entryOf(render: ListedRender): RenderPage['renders'][number] {
  const { id, template, engine, acceptedAt, state } = render
  return {
    render_id: id,
    template,
    engine,
    ...labelsOf(render),
    ...(render.batch !== undefined && { batch_id: render.batch }),
    status: state.status,
    created_at: timeOf(acceptedAt),
    ...('finishedAt' in state && { finished_at: timeOf(state.finishedAt) }),
    ...(state.status === 'succeeded' && { pdf_size_bytes: state.bytes }),
    ...(state.status === 'failed' && { error: { code: state.code, reason: state.code } }),
  }
}

const EXAMPLE: RenderPage = {
  renders: [
    {
      render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
      template: 'invoice',
      engine: 'react_pdf',
      reference: 'order-2026-0042',
      metadata: { customer: 'c-17' },
      status: 'succeeded',
      created_at: '2026-11-21T12:00:00.000Z',
      finished_at: '2026-11-21T12:00:00.412Z',
      pdf_size_bytes: 48_213,
    },
  ],
  next_cursor: 'AZqm8exVfw-IFPrdMn6zCJ8E5W1pXo2kR7sLq0aGbTQ',
}
