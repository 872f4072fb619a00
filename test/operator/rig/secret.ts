import { pathOf } from '@platen/operator/cluster/path.ts'
import type { KubeApi } from '../../topology/server/kube.ts'

/** The path of a Secret, or without a name of all. */
export function pathOfSecret(place: { readonly namespace?: string; readonly name?: string }): string {
  return pathOf({ group: '', version: 'v1', plural: 'secrets', ...place })
}

/** What a Secret holds, decoded. Throws where there is none. */
export async function readSecret(
  kube: KubeApi,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Readonly<Record<string, string>>> {
  const { status, body } = await kube.request({ path: `/api/v1/namespaces/${namespace}/secrets/${name}` })
  if (status !== 200) throw new Error(`there is no Secret ${namespace}/${name}: ${status}`)
  return decoded(body['data'])
}

export function decoded(data: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(data ?? {})
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString()]))
}

/** The request, but for its path, that merges texts into the `data` of a Secret; null removes. */
export function mergingPatch(texts: Readonly<Record<string, string | null>>) {
  const encoded = Object.entries(texts).map(([key, text]) => [key, text && Buffer.from(text).toString('base64')])
  return { method: 'PATCH', type: 'application/merge-patch+json', body: { data: Object.fromEntries(encoded) } }
}
