/** A host whose files come when a test says so. So documents wait in their browser for as long as it wants. */
import { createHash } from 'node:crypto'
import type { AssetDigest } from '@platen/contract/domain/tenant.ts'
import { NO_REMOTE_FILES, type RemoteFiles } from '@platen/renderer/engine/remote-files.ts'
import { expect, vi } from 'vitest'
import { aSquare, RED } from '../../fixture/asset.ts'

export const HOST = 'files.test'

/** A safety net: what is waited for are processes, which say nothing when they have come or gone. */
export const PATIENCE = { timeout: 60_000, interval: 50 }

/** An image that its document waits for, and which holds it until it is given. */
export const heldBy = (name: string) => `<img src="https://${HOST}/${name}">`

/** A host that gives each file when the test says so, and keeps count of who has asked. */
export function aHeldHost() {
  const bytes = aSquare(RED)
  const digest = createHash('sha256').update(bytes).digest('hex') as AssetDigest
  const asked: string[] = []
  const given = new Map<string, PromiseWithResolvers<void>>()
  const gift = (name: string) => {
    const known = given.get(name) ?? Promise.withResolvers<void>()
    given.set(name, known)
    return known
  }
  const remote: RemoteFiles = {
    ...NO_REMOTE_FILES,
    async fetch(_work, url) {
      const name = url.slice(`https://${HOST}/`.length)
      asked.push(name)
      await gift(name).promise
      return { name: url, digest, type: 'image/png', bytes }
    },
  }
  const times = (name: string) => asked.filter((other) => other === name).length
  return {
    remote,
    times,
    give: (name: string) => gift(name).resolve(),
    whenAsked: (name: string, count = 1) =>
      vi.waitFor(() => expect(times(name)).toBeGreaterThanOrEqual(count), PATIENCE),
  }
}
