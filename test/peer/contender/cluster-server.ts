/** The program of `cluster.ts`: each document has a new context of one browser. */
import fastify from 'fastify'
import puppeteer from 'puppeteer'
import { Cluster } from 'puppeteer-cluster'
import { SLOTS } from '../peer.ts'

const [, , port, executablePath, browser] = process.argv
if (executablePath === undefined) throw new Error('usage: cluster-server.ts PORT CHROMIUM shell|full')

const cluster: Cluster<string, Uint8Array> = await Cluster.launch({
  concurrency: Cluster.CONCURRENCY_CONTEXT,
  maxConcurrency: SLOTS,
  puppeteer,
  puppeteerOptions: {
    executablePath,
    headless: browser === 'full' ? true : 'shell',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  },
})
await cluster.task(async ({ page, data }) => {
  await page.setContent(data)
  return await page.pdf({ format: 'A4', printBackground: true, preferCSSPageSize: true, tagged: false, outline: false })
})

const app = fastify({ bodyLimit: 16 * 1024 * 1024 })
app.addContentTypeParser('text/html', { parseAs: 'string' }, (_, body, done) => done(null, body))
app.get('/health', () => 'ok')
app.post<{ Body: string }>('/pdf', async ({ body }, reply) => {
  const pdf = await cluster.execute(body)
  return await reply.type('application/pdf').send(Buffer.from(pdf))
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.once('SIGTERM', () => void cluster.close().then(() => process.exit()))
