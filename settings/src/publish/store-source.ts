/**
 * What renderers need of templates, on its way into the artifact store: it has to stand there before any of these templates is
 * published. All of it is named by its content, so it is written once, and writing it twice changes nothing.
 */
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { assetKey, templateKey } from '@platen/contract/render.ts'
import type { AssetDigest, TemplateDigest, TemplateSource } from '@platen/contract/tenant.ts'

export interface StoredSources {
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** The assets of these sources. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
}

export interface SourceStore {
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
}

/** Puts there what is not there, each source after all assets. Rejects as the store does: then some of it may be there. */
export async function storeSources(
  { artifacts, serviceBucket }: SourceStore,
  { sources, assets }: StoredSources,
  signal: AbortSignal,
): Promise<void> {
  const put = async (key: string, bytes: Uint8Array) => {
    const address = { bucket: serviceBucket, key }
    if (!(await artifacts.has(address, signal))) await artifacts.put(address, bytes, signal)
  }
  for (const [digest, bytes] of assets) await put(assetKey(digest), bytes)
  for (const [digest, source] of sources) await put(templateKey(digest), Buffer.from(canonicalJson(source)))
}
