/** What an ApiKey needs before it is compiled: its key, behind `secretName` or brought along. */
import { keyIdOf, parseKeyHash } from '@platen/contract/api-key.ts'
import { parseInstant } from '@platen/contract/instant.ts'
import { type ApiKeyResource, type Uid } from '@platen/contract/resource.ts'
import { ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import type { Declared } from '../reconcile/declared.ts'
import type { Known, Station } from '../reconcile/station.ts'
import type { Status } from '../reconcile/status.ts'
import { type SecretPorts, settleKey } from '../secret/settle-key.ts'
import { annotationsOf, isAsTold, type SecretWatch } from './secret-watch.ts'

export interface ApiKeyStationOptions {
  readonly ports: SecretPorts
  /** For compiling. */
  readonly foundKeys: Map<Uid, FoundKey>
  readonly watch: SecretWatch
}

export function apiKeyStation({ ports, foundKeys, watch }: ApiKeyStationOptions): Station {
  return {
    async prepare(declared, status, signal) {
      const resource = keyIn(declared)
      const { uid } = resource.metadata
      if (resource.spec.sha256 !== undefined) return { known: broughtKey(resource) }
      const annotations = annotationsOf(declared, ROTATE_KEY_ANNOTATION)
      const settled = await settleKey({ resource, annotations, status }, ports, signal)
      foundKeys.set(uid, settled.found)
      const told = watch.settled(resource, settled)
      return {
        known: { ...settled.status, ...expiryOf(resource) },
        ...told,
        ...(settled.again && { again: settled.again }),
      }
    },
    recall(declared, status) {
      const resource = keyIn(declared)
      const { uid } = resource.metadata
      const isTold = isAsTold(declared, status)
      if (resource.spec.sha256 !== undefined) return isTold ? broughtKey(resource) : undefined
      const hash = parseKeyHash(status.sha256 ?? '')
      if (hash === undefined) return undefined
      const [last, until] = [parseKeyHash(status.previous?.sha256 ?? ''), parseInstant(status.previous?.until ?? '')]
      const replaced = last !== undefined && until !== undefined ? { hash: last, until } : undefined
      foundKeys.set(uid, { hash, ...(replaced && { replaced }) })
      watch.recalled(resource)
      // When an overlap ends the Secret has to be put in order.
      return isTold && replaced === undefined ? { ...keyTold(status), ...expiryOf(resource) } : undefined
    },
    forget({ metadata }) {
      foundKeys.delete(metadata.uid)
      watch.forget(metadata.uid)
    },
  }
}

function keyIn({ resource }: Declared): ApiKeyResource {
  if (resource.kind !== 'ApiKey') throw new TypeError('this is the station of ApiKeys')
  return resource
}

function broughtKey({ spec }: ApiKeyResource): Known {
  const hash = parseKeyHash(spec.sha256?.slice('sha256:'.length) ?? '')
  return { ...(hash !== undefined && { keyId: keyIdOf(hash), sha256: hash }), ...expiryOf({ spec }) }
}

function keyTold({ keyId, prefix, sha256, rotation }: Status): Known {
  return {
    ...(keyId !== undefined && { keyId }),
    ...(prefix !== undefined && { prefix }),
    ...(sha256 !== undefined && { sha256 }),
    ...(rotation !== undefined && { rotation }),
  }
}

function expiryOf({ spec }: Pick<ApiKeyResource, 'spec'>): Known {
  return spec.expiresAt === undefined ? {} : { expiresAt: spec.expiresAt }
}
