/** Prepares an ApiKey for compiling: finds its key in the Secret `secretName` or in its spec. */
import { keyIdOf, parseKeyHash } from '@platen/contract/domain/api-key.ts'
import type { ApiKeyResource, Uid } from '@platen/contract/domain/resource.ts'
import type { ApiKeyStatus } from '@platen/contract/domain/resource-spec.ts'
import { parseInstant } from '@platen/lib/instant.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import type { KindHandler } from '../reconcile/kind-handler.ts'
import type { ResourceView } from '../reconcile/resource-view.ts'
import type { StatusFields } from '../reconcile/status.ts'
import { reconcileKeySecret, type SecretPorts } from '../secret/reconcile-key-secret.ts'
import { isUpToDate, type SecretTracker } from './secret-tracker.ts'

interface ApiKeyHandlerOptions {
  readonly ports: SecretPorts
  /** Read by the compilation. */
  readonly foundKeys: Map<Uid, FoundKey>
  readonly tracker: SecretTracker
}

export function apiKeyHandler({ ports, foundKeys, tracker }: ApiKeyHandlerOptions): KindHandler {
  return {
    async prepare(view, status, signal) {
      const resource = apiKeyOf(view)
      const { uid } = resource.metadata
      if (resource.spec.sha256 !== undefined) return { statusFields: declaredKeyFields(resource) }
      const reconciled = await reconcileKeySecret({ resource, rotation: view.rotation, status }, ports, signal)
      foundKeys.set(uid, reconciled.found)
      const statusFields = { ...reconciled.status, ...expiryFieldsOf(resource) }
      return { statusFields, ...tracker.onReconciled(resource, reconciled) }
    },
    restore(view, status) {
      const resource = apiKeyOf(view)
      const { uid } = resource.metadata
      const isCurrent = isUpToDate(view, status)
      if (resource.spec.sha256 !== undefined) return isCurrent ? declaredKeyFields(resource) : undefined
      const hash = parseKeyHash(status.sha256 ?? '')
      if (hash === undefined) return undefined
      const [last, until] = [parseKeyHash(status.previous?.sha256 ?? ''), parseInstant(status.previous?.until ?? '')]
      const replaced = last !== undefined && until !== undefined ? { hash: last, until } : undefined
      foundKeys.set(uid, { hash, ...(replaced && { replaced }) })
      tracker.onRestored(resource)
      // The Secret must be updated when the overlap ends.
      return isCurrent && replaced === undefined ? { ...keyFieldsOf(status), ...expiryFieldsOf(resource) } : undefined
    },
    forget(resource) {
      foundKeys.delete(resource.metadata.uid)
      tracker.forget(resource)
    },
  }
}

type KeyFields = StatusFields<ApiKeyStatus>

function apiKeyOf({ resource }: ResourceView): ApiKeyResource {
  if (resource.kind !== 'ApiKey') throw new TypeError('expected an ApiKey')
  return resource
}

function declaredKeyFields({ spec }: ApiKeyResource): KeyFields {
  const hash = parseKeyHash(spec.sha256?.slice('sha256:'.length) ?? '')
  return { ...(hash !== undefined && { keyId: keyIdOf(hash), sha256: hash }), ...expiryFieldsOf({ spec }) }
}

function keyFieldsOf({ keyId, prefix, sha256, rotation }: KeyFields): KeyFields {
  return {
    ...(keyId !== undefined && { keyId }),
    ...(prefix !== undefined && { prefix }),
    ...(sha256 !== undefined && { sha256 }),
    ...(rotation !== undefined && { rotation }),
  }
}

function expiryFieldsOf({ spec }: Pick<ApiKeyResource, 'spec'>): KeyFields {
  return spec.expiresAt === undefined ? {} : { expiresAt: spec.expiresAt }
}
