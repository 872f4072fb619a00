/** What a thread for layouts loads. Each start pays for it, in time and in memory. */
import { on } from 'node:events'
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ThreadData } from '@platen/renderer/engine/thread/message.ts'
import { defaultFaces } from '@platen/renderer/template/asset/font/default-fonts.ts'
import { expect, test } from 'vitest'

const THREAD = createRequire(import.meta.url).resolve('@platen/renderer/engine/thread/render-thread.ts')

/** Runs in the thread before its own code: reports each module, and refuses to fetch. */
const WATCH = `
import { registerHooks } from 'node:module'
import { parentPort } from 'node:worker_threads'
globalThis.fetch = () => { throw new Error('the thread fetches') }
registerHooks({
  load(url, context, nextLoad) {
    parentPort.postMessage({ kind: 'module', url })
    return nextLoad(url, context)
  },
})`

test('loads react-pdf, and no client of HTTP', async () => {
  const thread = new Worker(THREAD, {
    workerData: { kinds: ['react_pdf'], faces: defaultFaces(), isLow: false } satisfies ThreadData,
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(WATCH)}`],
    env: { NODE_ENV: 'production' },
  })
  const packages = new Set<string>()
  for await (const [{ kind, url }] of on(thread, 'message')) {
    if (kind === 'loaded') break
    packages.add(/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1] ?? '')
  }
  await thread.terminate()
  expect([...packages]).toContain('@react-pdf/renderer')
})
