/**
 * Writes what renderers need of templates to the artifact store, before any of these templates is published. Everything is named by its
 * content, so it is written once, and writing it twice changes nothing.
 */

import { assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { AssetDigest, TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'

/** Assets and sources that are stored at once: the disk flushes several as quickly as one. */
const SOURCES_STORED_AT_ONCE = 8

export interface StoredSources {
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** The assets of these sources. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
}

interface SourceStore {
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
}

/** Stores what is missing, each source after all assets. Rejects as the store does; part of it may be stored then. */
export async function storeSources(
  { artifacts, serviceBucket }: SourceStore,
  { sources, assets }: StoredSources,
  signal: AbortSignal,
): Promise<void> {
  const put = async (key: string, bytes: Uint8Array) => {
    const address = { bucket: serviceBucket, key }
    if (!(await artifacts.has(address, signal))) await artifacts.put(address, bytes, signal)
  }
  await forEachConcurrently(assets, SOURCES_STORED_AT_ONCE, ([digest, bytes]) => put(assetKey(digest), bytes))
  await forEachConcurrently(sources, SOURCES_STORED_AT_ONCE, ([digest, source]) =>
    put(templateKey(digest), Buffer.from(canonicalJson(source))),
  )
}
