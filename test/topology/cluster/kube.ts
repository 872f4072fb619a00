/** A Kubernetes API as in an installation: our kinds and roles, and the operator's namespace, but no resources yet. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../architecture/source-tree.ts'
import { poll } from '../../time/poll.ts'
import { type KubeApi, type KubeServer, startKube } from '../server/kube.ts'

/** The operator's namespace, as in `rbac/operator.yaml`. */
export const OPERATOR_NAMESPACE = 'platen'
const accountOf = (name: string) => ({
  name: `system:serviceaccount:${OPERATOR_NAMESPACE}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${OPERATOR_NAMESPACE}`],
})
/** The users it knows. At first only the operator has rights; tests bind the others to roles. */
export const PERSONAS = {
  operator: accountOf('platen-operator'),
  'platform admin': { name: 'paula', groups: ['platform'] },
  'tenant editor': { name: 'eddi', groups: ['acme-editors'] },
  'tenant viewer': { name: 'vera', groups: ['acme-viewers'] },
  'API pod': accountOf('platen-api'),
} as const
export const OPERATOR_PERSONA = PERSONAS.operator.name

/** Throws with the output of kubectl. */
export async function startInstalledKube(): Promise<KubeServer> {
  await using stack = new AsyncDisposableStack()
  const kube = stack.use(await startKube({ personas: Object.values(PERSONAS) }))
  await install(kube)
  stack.move()
  return kube
}

export async function install(kube: KubeApi): Promise<void> {
  const { code, stderr } = await kube.kubectl(['create', 'namespace', OPERATOR_NAMESPACE])
  if (code !== 0) throw new Error(stderr)
  await kube.apply(['crds', 'rbac'].flatMap(manifestsIn))
  // Roles take effect a moment after they are applied.
  await poll(() => kube.request({ path: '/apis/platen.dev/v1alpha1/plans', as: OPERATOR_PERSONA })).until(
    ({ status }) => status === 200,
  )
}

/** Creates a namespace whose Secrets the operator may read, as a platform team does. */
export async function grantNamespace(kube: KubeApi, namespace: string): Promise<void> {
  await kube.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } })
  const { code, stderr } = await kube.kubectl([
    'create',
    'rolebinding',
    SECRETS_ROLE,
    `--namespace=${namespace}`,
    `--clusterrole=${SECRETS_ROLE}`,
    `--serviceaccount=${OPERATOR_NAMESPACE}:platen-operator`,
  ])
  if (code !== 0) throw new Error(stderr)
  // The binding takes effect a moment after it is created.
  await poll(() =>
    kube.request({ path: `/api/v1/namespaces/${namespace}/secrets/nobody`, as: OPERATOR_PERSONA }),
  ).until(({ status }) => status === 404)
}

const SECRETS_ROLE = 'platen-operator-secrets'

/** Removes all resources, everything that operators stored next to them, and the namespaces of tests. No controller does it here. */
export async function emptyKube(kube: KubeApi): Promise<void> {
  for (const kind of ['erasures', 'apikeys', 'templates', 'tenants', 'plans']) {
    const path = `/apis/platen.dev/v1alpha1/${kind}`
    for (const { metadata } of await itemsAt(kube, path)) {
      const own =
        metadata.namespace === undefined ? path : path.replace(kind, `namespaces/${metadata.namespace}/${kind}`)
      const object = `${own}/${metadata.name}`
      await kube.request({
        method: 'PATCH',
        path: object,
        body: { metadata: { finalizers: null } },
        type: 'application/merge-patch+json',
      })
      await kube.request({ method: 'DELETE', path: object })
    }
  }
  const namespaces = (await itemsAt(kube, '/api/v1/namespaces')).map(({ metadata }) => metadata.name)
  for (const name of namespaces.filter((each) => each !== 'default' && !each.startsWith('kube-'))) {
    for (const kind of ['api/v1 secrets', 'api/v1 configmaps', 'api/v1 events', 'apis/coordination.k8s.io/v1 leases']) {
      const [group, plural] = kind.split(' ')
      await kube.request({ method: 'DELETE', path: `/${group}/namespaces/${name}/${plural}` })
    }
    if (name === OPERATOR_NAMESPACE) continue
    await kube.request({
      method: 'DELETE',
      path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings/${SECRETS_ROLE}`,
    })
    await removeNamespace(kube, name)
  }
}

/** A namespace disappears after its last finalizer is removed. */
async function removeNamespace(kube: KubeApi, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${name}`
  await kube.request({ method: 'DELETE', path })
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } }
  await kube.request({ method: 'PUT', path: `${path}/finalize`, body })
}

async function itemsAt(kube: KubeApi, path: string): Promise<readonly Listed[]> {
  const { body } = await kube.request({ path })
  return (body['items'] ?? []) as readonly Listed[]
}

interface Listed {
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

function manifestsIn(folder: string): readonly string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.yaml'))
  return names.map((name) => join(ROOT, folder, name))
}
