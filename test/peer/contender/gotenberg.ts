/** Gotenberg: a Go server that starts one Chromium, opens a tab for each document, and restarts it after a hundred. */
import { join } from 'node:path'
import { filledHtml } from '../../bench/invoice.ts'
import { installed } from '../install.ts'
import { type Browser, executableOf, type Peer, startProgram } from '../peer.ts'

export function gotenberg(browser: Browser): Peer {
  return {
    name: browser === 'full' ? 'gotenberg-full' : 'gotenberg',
    title: 'Gotenberg 8.36',
    browser,
    async start() {
      const home = installed('gotenberg')
      const chromium = await executableOf(browser)
      return await startProgram(({ port }) => ({
        // Its defaults, but for a longer timeout and a browser that is there from the start, as in its image.
        command: [
          ...ALONE,
          join(home, 'gotenberg'),
          '--api-bind-ip=127.0.0.1',
          `--api-port=${port}`,
          '--api-timeout=120s',
          '--chromium-auto-start',
          '--log-level=error',
          '--prometheus-disable-collect',
        ],
        env: { ...settings(home), CHROMIUM_BIN_PATH: chromium },
        readyPath: '/health',
        path: '/forms/chromium/convert/html',
        request: (rows) => ({ body: form(filledHtml(rows)) }),
      }))
    },
  }
}

/**
 * In processes of its own namespace, with Linux' own tool. When Gotenberg restarts its browser, it kills every process that it sees with
 * `chromium/chromium` in its command line: the browser of the service, and that of anybody on the machine.
 */
const ALONE = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
  '--pid',
  '--fork',
  '--mount-proc',
  '--kill-child',
] as const

/** It checks at the start that each tool exists. This route needs none of them. */
function settings(home: string): Record<string, string> {
  const tools = ['QPDF', 'PDFCPU', 'PDFTK', 'EXIFTOOL'].map((tool) => [`${tool}_BIN_PATH`, '/bin/true'])
  const exporters = ['TRACES', 'METRICS', 'LOGS'].map((signal) => [`OTEL_${signal}_EXPORTER`, 'none'])
  return {
    ...Object.fromEntries([...tools, ...exporters]),
    CHROMIUM_HYPHEN_DATA_DIR_PATH: join(home, 'hyphen'),
    // Its default is an engine that this variant lacks.
    PDFENGINES_CONVERT_ENGINES: '',
  }
}

function form(html: string): FormData {
  const data = new FormData()
  data.set('files', new Blob([html], { type: 'text/html' }), 'index.html')
  data.set('preferCssPageSize', 'true')
  data.set('printBackground', 'true')
  return data
}
