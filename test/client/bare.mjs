/**
 * Runs the scenario in a world that has JavaScript and these names of the web, and nothing of Node: no module of its, no Buffer, no
 * process. Started as `node --experimental-vm-modules bare.mjs <input>`.
 */
import { readFile } from 'node:fs/promises'
import { createContext, SourceTextModule } from 'node:vm'

const DIST = new URL('../../client/dist/', import.meta.url)
const SCENARIO = new URL('scenario.mjs', import.meta.url)

const context = createContext({
  AbortController,
  AbortSignal,
  Headers,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  atob,
  btoa,
  clearTimeout,
  crypto,
  fetch,
  performance,
  setTimeout,
})
const modules = new Map()

function load(url) {
  const known =
    modules.get(url.href) ??
    readFile(url, 'utf8').then((text) => new SourceTextModule(text, { context, identifier: url.href }))
  modules.set(url.href, known)
  return known
}

function link(specifier, { identifier }) {
  if (specifier === '@platen/client') return load(new URL('index.js', DIST))
  const url = new URL(specifier, identifier)
  if (/^\.\.?\//.test(specifier) && url.href.startsWith(DIST.href)) return load(url)
  throw new Error(`there is no module ${specifier} where there is no Node`)
}

const module = await load(SCENARIO)
await module.link(link)
await module.evaluate()
process.stdout.write(await module.namespace.scenario(JSON.parse(process.argv[2])))
