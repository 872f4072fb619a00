/** jsreport: a Node server with workers for templates and a pool of Chromiums. */
import { filledHtml } from '../../bench/invoice.ts'
import { installed } from '../install.ts'
import { type Browser, executableOf, type Peer, SLOTS, startProgram } from '../peer.ts'

export function jsreport(browser: Browser): Peer {
  return {
    name: browser === 'full' ? 'jsreport-full' : 'jsreport',
    title: 'jsreport 4.14',
    browser,
    async start() {
      const home = installed('jsreport')
      const launch = { executablePath: await executableOf(browser), headless: browser === 'full' ? true : 'shell' }
      return await startProgram(({ port, folder }) => ({
        command: [
          process.execPath,
          '--eval',
          `require(${JSON.stringify(`${home}/node_modules/jsreport`)})(${JSON.stringify({
            ...SETTINGS,
            rootDirectory: home,
            tempDirectory: folder,
            httpPort: port,
            extensions: extensions(launch),
          })}).init()`,
        ],
        env: { NODE_ENV: 'production' },
        readyPath: '/api/ping',
        path: '/api/report',
        request: (rows) => ({
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ template: { content: filledHtml(rows), engine: 'none', ...RECIPE } }),
        }),
      }))
    },
  }
}

/** Nothing is logged or profiled, and templates are trusted, which is faster. */
const SETTINGS = {
  loadConfig: false,
  hostname: '127.0.0.1',
  store: { provider: 'memory' },
  blobStorage: { provider: 'memory' },
  trustUserCode: true,
  reportTimeout: 120_000,
  workers: { numberOfWorkers: SLOTS },
  logger: { silent: true },
  profiler: { defaultMode: 'disabled' },
}

const RECIPE = {
  recipe: 'chrome-pdf',
  chrome: { format: 'A4', printBackground: true, preferCSSPageSize: true, tagged: false, outline: false },
}

function extensions(launchOptions: object): object {
  return {
    authentication: { enabled: false },
    studio: { enabled: false },
    'sample-template': { createSamples: false },
    'chrome-pdf': {
      strategy: 'chrome-pool',
      numberOfWorkers: SLOTS,
      launchOptions: { ...launchOptions, args: ['--no-sandbox', '--disable-dev-shm-usage'] },
    },
  }
}
