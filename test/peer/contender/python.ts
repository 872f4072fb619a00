/**
 * Engines without a browser and without a service, as Python packages: WeasyPrint, PlutoBook as `plutoprint`, and fulgur as `pyfulgur`. Each
 * in a process for each core behind one port, as its users run it.
 */
import { join } from 'node:path'
import { filledHtml } from '../../bench/invoice.ts'
import { installed } from '../install.ts'
import { type Peer, SLOTS, startProgram } from '../peer.ts'

/** The name is also that of its Python package. */
export function python(name: 'weasyprint' | 'plutoprint' | 'pyfulgur', title: string): Peer {
  return {
    name,
    title: `${title}, engine alone`,
    async start() {
      const home = installed('python')
      return await startProgram(({ port }) => ({
        command: ['python3', join(import.meta.dirname, 'python-server.py'), name, `${port}`, `${SLOTS}`],
        env: { PYTHONPATH: home },
        readyPath: '/',
        path: '/',
        request: (rows) => ({ body: filledHtml(rows) }),
      }))
    },
  }
}
