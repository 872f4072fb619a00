/** WeasyPrint: CSS for paper without a browser, in a process for each core behind one port, as its users run it. */
import { join } from 'node:path'
import { filledHtml } from '../../bench/invoice.ts'
import { installed } from '../install.ts'
import { type Peer, SLOTS, startProgram } from '../peer.ts'

export const weasyprint: Peer = {
  name: 'weasyprint',
  title: 'WeasyPrint 70',
  async start() {
    const home = installed('weasyprint')
    return await startProgram(({ port }) => ({
      command: ['python3', join(import.meta.dirname, 'weasyprint-server.py'), `${port}`, `${SLOTS}`],
      env: { PYTHONPATH: home },
      readyPath: '/',
      path: '/',
      request: (rows) => ({ body: filledHtml(rows) }),
    }))
  },
}
