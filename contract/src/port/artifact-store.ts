import type { Instant } from '@platen/lib/brand.ts'
import type { ArtifactAddress } from '../domain/render.ts'

/**
 * Objects by address: PDFs, manifests, large inputs, template sources. Writes that resolved survive kill -9 and power loss. Every method
 * throws `Unavailable` when the store cannot be reached.
 */
export interface ArtifactStore {
  /** Replaces an existing object. A reader sees the old bytes or the new ones, never a mix. */
  put(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /** Writes only if there is no object. Of any number of racing writers exactly one gets `true`. */
  create(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>
  /** Undefined if there is no object. */
  get(address: ArtifactAddress, signal: AbortSignal): Promise<Uint8Array | undefined>
  /** Bytes from `start` to `end`, as far as the object has them. Undefined if there is no object. */
  getPart(
    address: ArtifactAddress,
    range: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>
  has(address: ArtifactAddress, signal: AbortSignal): Promise<boolean>
  /** Removing a missing object is fine. */
  delete(address: ArtifactAddress, signal: AbortSignal): Promise<void>
  /** Objects whose key begins with `prefix` (which ends in `/` or is empty), in any order. */
  list(bucket: string, prefix: string, signal: AbortSignal): AsyncIterable<ArtifactAddress>
  /**
   * Names of the folders directly below `prefix`, which ends in `/`, in any order. The cost depends on the number of folders, not of
   * objects in them. Not for folders that are named by ids: a store may group those in folders of its own.
   */
  listFolders(bucket: string, prefix: string, signal: AbortSignal): AsyncIterable<string>
  /**
   * A URL under which anyone may GET the object until `expiresAt`. Browsers save it as `filename`. Does not check that the object exists.
   */
  presign(
    address: ArtifactAddress,
    grant: { expiresAt: Instant; filename: string },
    signal: AbortSignal,
  ): Promise<string>
}

/** The store answers, but cannot be used. The message says what the operator must fix. */
export class ArtifactStoreUnfit extends Error {
  override readonly name = 'ArtifactStoreUnfit'
}
