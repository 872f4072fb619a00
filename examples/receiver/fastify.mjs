import { verifyWebhook, WebhookVerificationError } from '@platen/client'
import fastify from 'fastify'

/** Delivery ids that were taken. Keep them where your data is, written with it: a restart forgets what is here. */
const taken = new Set()
const app = fastify({ bodyLimit: 64 * 1024 })

// The signature is over the bytes that were sent, so nothing may parse them before it is verified.
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

app.post('/webhook', async (request, reply) => {
  const event = await verifyWebhook(request.body ?? '', request.headers, process.env.WEBHOOK_SECRET)
  const isNew = !taken.has(event.deliveryId)
  taken.add(event.deliveryId)
  if (isNew) setImmediate(() => console.log(event.type, event.renderId ?? event.batchId)) // Your work, after the answer.
  return reply.code(204).send()
})

app.setErrorHandler((error, _request, reply) => {
  const status = error instanceof WebhookVerificationError ? 400 : (error.statusCode ?? 500)
  if (status === 500) console.error(error.message) // Such as a secret with the line end of its file.
  return reply.code(status).send({ error: error.code ?? 'internal' })
})

console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 8090) })}`)
