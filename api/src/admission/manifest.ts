import { decodeManifest, type Manifest, manifestAddress } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import { isUnavailable } from '../problem.ts'
import { OUTCOME_POLL_MS_MAX, OUTCOME_POLL_MS_MIN, OUTCOME_POLL_SHARE } from './limit.ts'

/** Undefined while the render has no outcome. Throws `Unavailable`. */
export async function readManifest(id: RenderId, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, clock, settings } = ports
  const bytes = await artifacts.get(manifestAddress(id, settings.serviceBucket), clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeManifest(bytes)
}

/** Polls until the manifest exists. Rejects when `signal` aborts. */
export async function pollManifest(id: RenderId, ports: ApiPorts, signal: AbortSignal): Promise<Manifest> {
  const { clock } = ports
  const begunAt = clock.monotonic()
  for (;;) {
    const manifest = await readManifest(id, ports).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error
      return undefined
    })
    if (manifest !== undefined) return manifest
    const pollMs = (clock.monotonic() - begunAt) * OUTCOME_POLL_SHARE
    await clock.sleep(Math.min(Math.max(pollMs, OUTCOME_POLL_MS_MIN), OUTCOME_POLL_MS_MAX), signal)
  }
}
