/** The outcome of a render, as it stands in the artifact store. */
import { PORT_CALL_MS_MAX } from '@platen/contract/limit.ts'
import { type ArtifactAddress, decodeManifest, type Manifest, manifestKey } from '@platen/contract/render.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { ApiPorts } from '../ports.ts'

/** The outcome of a render, once there is one. Throws `Unavailable`. */
export async function readManifest(id: RenderId, ports: ApiPorts): Promise<Manifest | undefined> {
  const { artifacts, clock, settings } = ports
  const bytes = await artifacts.get(manifestAddress(id, settings.serviceBucket), clock.timeout(PORT_CALL_MS_MAX))
  return bytes && decodeManifest(bytes)
}

/** Where it stands. */
export function manifestAddress(id: RenderId, bucket: string): ArtifactAddress {
  return { bucket, key: manifestKey(id) }
}
