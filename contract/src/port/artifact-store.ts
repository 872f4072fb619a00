import type { Instant } from '../brand.ts'
import type { ArtifactAddress } from '../render.ts'

/**
 * Objects by address: PDFs, manifests, large inputs, template sources. Resolved writes survive kill -9 and power loss.
 * Every method throws `Unavailable` when the store cannot be reached.
 */
export interface ArtifactStore {
  /** Writes an object, replacing one that is there; a reader sees the old bytes or the new, never a part. */
  put(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<void>
  /** Writes an object only where none is. Of any number of racing writers exactly one gets `true`. */
  create(address: ArtifactAddress, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>
  /** The whole object, or undefined where there is none. */
  get(address: ArtifactAddress, signal: AbortSignal): Promise<Uint8Array | undefined>
  /** Is there an object? */
  has(address: ArtifactAddress, signal: AbortSignal): Promise<boolean>
  /** Removes an object; removing nothing is fine. */
  delete(address: ArtifactAddress, signal: AbortSignal): Promise<void>
  /** Addresses of a bucket whose key begins with `prefix` (which ends in `/` or is empty), in no order. */
  list(bucket: string, prefix: string, signal: AbortSignal): AsyncIterable<ArtifactAddress>
  /** An absolute URL under which anyone may GET the object until `expiresAt`, offered to browsers as `filename`. Says nothing of whether it exists. */
  presign(
    address: ArtifactAddress,
    grant: { expiresAt: Instant; filename: string },
    signal: AbortSignal,
  ): Promise<string>
}
