import type { Instant } from '@platen/lib/brand.ts'
import type { ArtifactAddress } from '../domain/render.ts'

/**
 * Objects by address: PDFs, manifests, large inputs, template sources. Resolved writes survive kill -9 and power loss. Every method throws
 * `Unavailable` when the store cannot be reached.
 */
export interface ArtifactStore {
  /** Writes an object and replaces an existing one. A reader sees the old bytes or the new ones, never a mix. */
  put(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /** Writes an object only if there is none. Of any number of racing writers exactly one gets `true`. */
  create(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>
  /** The whole object, or undefined if there is none. */
  get(address: ArtifactAddress, signal: AbortSignal): Promise<Uint8Array | undefined>
  /** The bytes of an object from `start` to `end`, as far as it has them, or undefined if there is no object. */
  getPart(
    address: ArtifactAddress,
    range: { readonly start: number; readonly end: number },
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>
  /** Whether there is an object. */
  has(address: ArtifactAddress, signal: AbortSignal): Promise<boolean>
  /** Removes an object. Removing a missing one is fine. */
  delete(address: ArtifactAddress, signal: AbortSignal): Promise<void>
  /** Addresses in a bucket whose key begins with `prefix` (which ends in `/` or is empty), in any order. */
  list(bucket: string, prefix: string, signal: AbortSignal): AsyncIterable<ArtifactAddress>
  /**
   * Names of the folders directly below `prefix`, which ends in `/`, in any order. Its cost depends on how many there are, and not on how many
   * objects are in them. Not for folders that are named by ids: a store may keep those in folders of its own.
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

/** The store can be reached, but cannot be used. The message says what the operator must fix. */
export class ArtifactStoreUnfit extends Error {
  override readonly name = 'ArtifactStoreUnfit'
}
