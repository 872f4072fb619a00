/**
 * Writes what renderers need of templates to the artifact store, before any of these templates is published. Everything is named by its
 * content, so it is written once, and writing it twice changes nothing.
 */

import { assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { TemplateResource } from '@platen/contract/domain/resource.ts'
import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { AssetDigest, TemplateDigest, TemplateSource } from '@platen/contract/domain/tenant.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { sampleOf } from '../compile/template.ts'

/** Stored at once: the disk flushes several as quickly as one. */
const SOURCES_STORED_AT_ONCE = 8

export interface StoredSources {
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** Of these sources. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
}

/** The request is that of the check of the sources. */
export function sourcesOf(
  template: TemplateResource,
  { digest, request }: { readonly digest: TemplateDigest; readonly request: Pick<CheckRequest, 'source' | 'assets'> },
): StoredSources {
  const sample = sampleOf(template)
  const assets = [...request.assets, ...(sample ? [sample] : [])]
  return {
    sources: new Map([[digest, request.source]]),
    assets: new Map(assets.map((asset) => [asset.digest, asset.bytes])),
  }
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
