/** What a caller does and what a receiver does, for every runtime in turn. It and the client get by with what the web has. */
import { createClient, signTestEvent, verifyWebhook } from '@platen/client'

/** What came of it, as JSON. */
export async function scenario({ baseUrl, apiKey, vector }) {
  const client = createClient({ baseUrl, apiKey })
  const input = { template: 'invoice', data: { number: 'A1', rows: [] } }
  const { pdf } = await client.render(input, { signal: new AbortController().signal })
  const { renderId } = await client.renderAsync(input)
  const download = await client.downloadPdf(await client.waitForRender(renderId))
  const { pdf: awaited } = await client.renderAndWait(input)
  const pieces = []
  await client.renderTo(input, async (pdf) => {
    for await (const piece of pdf) pieces.push(...piece)
  })
  const { templates } = await client.listTemplates()

  const verify = (body, scheme) =>
    verifyWebhook(body, vector.headers, vector.secret, { scheme, now: () => vector.timestamp * 1000 })
  const signed = await signTestEvent({ secret: 'secret' })
  const forged = await verify(`${vector.body} `).catch((error) => error.code)
  const unreachable = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey, retries: 1 })
  return JSON.stringify({
    heads: [pdf, download, awaited, new Uint8Array(pieces)].map((bytes) =>
      String.fromCharCode(...bytes.subarray(0, 5)),
    ),
    templates: templates.length,
    types: [(await verify(vector.body)).type, (await verify(vector.body, 'standard')).type],
    signed: (await verifyWebhook(signed.body, signed.headers, 'secret')).type,
    forged,
    refused: await client.getRender('none').catch((error) => error.code),
    unreachable: await unreachable.getRender(renderId).catch((error) => error.code),
  })
}
