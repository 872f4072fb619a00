/** puppeteer-cluster under Fastify, as its documentation has it: what a team writes that needs PDFs. */
import { join } from 'node:path'
import { filledHtml } from '../../bench/invoice.ts'
import { type Browser, executableOf, type Peer, startProgram } from '../peer.ts'

export function cluster(browser: Browser): Peer {
  return {
    name: browser === 'full' ? 'cluster-full' : 'cluster',
    title: 'puppeteer-cluster 0.25 and Fastify',
    browser,
    async start() {
      const chromium = await executableOf(browser)
      return await startProgram(({ port }) => ({
        command: [process.execPath, join(import.meta.dirname, 'cluster-server.ts'), `${port}`, chromium, browser],
        env: { NODE_ENV: 'production' },
        readyPath: '/health',
        path: '/pdf',
        request: (rows) => ({ headers: { 'content-type': 'text/html' }, body: filledHtml(rows) }),
      }))
    },
  }
}
