/**
 * Opens the artifact store for the processes of a cluster and `platen publish`. The embedded service opens its folder itself, because it
 * also serves the files.
 */
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { openS3ArtifactStore, type S3ArtifactStoreOptions } from './s3/artifact-store.ts'

/** Each kind of store has a member here, and a case below. */
interface ArtifactStoreSettings {
  readonly s3: Omit<S3ArtifactStoreOptions, 'clock' | 'ids' | 'latest' | 'onBrokenConnection'>
}

export interface InstalledArtifactStore {
  readonly artifacts: ArtifactStore & Disposable
  /** The bucket of manifests, templates, and all PDFs whose tenant names no other bucket. */
  readonly serviceBucket: string
}

/** Throws `ArtifactStoreUnfit` if the store can be reached but cannot be used, and `Unavailable` if it cannot be reached. */
export async function openArtifactStore(
  { s3 }: ArtifactStoreSettings,
  ports: Pick<S3ArtifactStoreOptions, 'latest' | 'onBrokenConnection'> & { readonly clock: Clock; readonly ids: Ids },
  signal: AbortSignal,
): Promise<InstalledArtifactStore> {
  return { artifacts: await openS3ArtifactStore({ ...s3, ...ports }, signal), serviceBucket: s3.namespace.bucket }
}
