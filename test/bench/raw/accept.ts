/** The bare Fastify route that the service's async acceptance is measured against: it validates the same body, stores nothing, and answers 202. */

import { renderRequestSchema } from '@platen/contract/schema/render-request.ts'
import { LANGUAGE_TAG, TIME_ZONE } from '@platen/lib/intl.ts'
import fastify from 'fastify'

// The schema has unions of types, of which ajv's strict mode would warn.
const formats = { 'language-tag': LANGUAGE_TAG.isValid, 'time-zone': TIME_ZONE.isValid }
const app = fastify({ bodyLimit: 10 * 1024 * 1024, ajv: { customOptions: { allowUnionTypes: true, formats } } })
app.post('/api/v1/render', { schema: { body: renderRequestSchema } }, (_request, reply) =>
  reply.code(202).send({
    render_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
    status: 'queued',
    poll_url: '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R',
  }),
)
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.once('disconnect', () => void app.close().then(() => process.exit()))
process.send?.(url)
