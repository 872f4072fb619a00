/** The station of the operator that keeps Secrets, on a real API server, and the hands of everybody else in the same Secrets. */

import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { openClusterClient } from '@platen/operator/cluster/client.ts'
import { loadKubeConfig } from '@platen/operator/cluster/kubeconfig.ts'
import { isKubeObject, type KubeObject } from '@platen/operator/cluster/object.ts'
import type { WebhookSecretPorts } from '@platen/operator/secret/reconcile-webhook-secret.ts'
import { manualClock } from '../../fixture/memory/clock.ts'
import { grantNamespace, OPERATOR_NAMESPACE, OPERATOR_PERSONA } from '../../topology/cluster/kube.ts'
import { borrowKube } from '../../topology/run-server.ts'
import type { KubeApi, KubeRequest } from '../../topology/server/kube.ts'
import { decoded, mergingPatch, pathOfSecret } from '../rig/secret.ts'

export const NAMESPACE = 'team-acme'

/** A Secret as anybody reads it. */
export interface ReadSecret {
  readonly object: KubeObject
  /** Decoded. */
  readonly data: Readonly<Record<string, string>>
  readonly hash: KeyHash
}

export interface Vault extends AsyncDisposable {
  readonly kube: KubeApi
  /** What the operator has, and the rights it has. Its clock stands still. */
  readonly ports: WebhookSecretPorts & { readonly clock: ReturnType<typeof manualClock> }
  read(name: string, namespace?: string): Promise<ReadSecret | undefined>
  /** Merges into the `data` of a Secret, as whoever has the right to; null removes. */
  edit(name: string, data: Readonly<Record<string, string | null>>): Promise<void>
  remove(name: string): Promise<void>
}

export async function openVault(): Promise<Vault> {
  const stack = new AsyncDisposableStack()
  const kube = stack.use(await borrowKube())
  await grantNamespace(kube, NAMESPACE)
  const client = stack.use(
    openClusterClient({
      config: loadKubeConfig(await kube.kubeconfig(OPERATOR_PERSONA)),
      clock: systemClock(),
      meter: { requested: () => undefined },
    }),
  )
  const ports = {
    client,
    clock: manualClock(),
    ids: systemIds(),
    brand: 'service',
    sealKeys: () => [Buffer.alloc(32, 7)] as const,
    namespace: OPERATOR_NAMESPACE,
  }
  const pathOf = (name: string, namespace = NAMESPACE) => pathOfSecret({ namespace, name })
  return {
    kube,
    ports,
    async read(name, namespace) {
      const { status, body } = await kube.request({ path: pathOf(name, namespace) })
      return status === 404 ? undefined : readSecret(body)
    },
    async edit(name, data) {
      await ask(kube, { ...mergingPatch(data), path: pathOf(name) })
    },
    async remove(name) {
      await kube.request({ method: 'DELETE', path: pathOf(name) })
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Asks as an admin, and throws where that is refused. */
export async function ask(kube: KubeApi, call: KubeRequest): Promise<void> {
  const { status, body } = await kube.request(call)
  if (status >= 400) throw new Error(`${call.path}: ${status} ${String(body['message'])}`)
}

function readSecret(body: Readonly<Record<string, unknown>>): ReadSecret {
  if (!isKubeObject(body)) throw new Error('the API server answers with no object')
  const data = decoded(body['data'])
  return { object: body, data, hash: hashOfKey(data['key'] ?? '') }
}
