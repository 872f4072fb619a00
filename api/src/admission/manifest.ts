/** Reads the outcome of a render from the artifact store. */
import { decodeManifest, type Manifest, manifestAddress } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'

/** Returns the outcome of a render, or undefined before there is one. Throws `Unavailable`. */
export async function readManifest(id: RenderId, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, clock, settings } = ports
  const bytes = await artifacts.get(manifestAddress(id, settings.serviceBucket), clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeManifest(bytes)
}
