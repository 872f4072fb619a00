import { verifyWebhook, WebhookVerificationError } from '@platen/client'
import express from 'express'

/** Delivery ids that were taken. Keep them where your data is, written with it: a restart forgets what is here. */
const taken = new Set()
const app = express()

// The signature is over the bytes that were sent, so nothing may parse them before it is verified.
app.post('/webhook', express.raw({ type: () => true, limit: '64kb' }), async (request, response) => {
  const event = await verifyWebhook(request.body ?? '', request.headers, process.env.WEBHOOK_SECRET)
  const isNew = !taken.has(event.deliveryId)
  taken.add(event.deliveryId)
  response.status(204).end()
  if (isNew) console.log(event.type, event.renderId ?? event.batchId) // Your work, after the answer.
})

app.use((error, _request, response, _next) => {
  const status = error instanceof WebhookVerificationError ? 400 : (error.status ?? 500)
  if (status === 500) console.error(error.message) // Such as a secret with the line end of its file.
  response.status(status).json({ error: error.code ?? 'internal' })
})

const server = app.listen(Number(process.env.PORT ?? 8090), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
