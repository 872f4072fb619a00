/** A Kubernetes API as an installation has it: our kinds and roles, and the operator's namespace, but no resource yet. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../architecture/source-tree.ts'
import { type KubeOptions, type KubeServer, startKube } from '../server/kube.ts'
import { eventually } from '../service.ts'

/** That of the operator, as `rbac/operator.yaml` has it. */
export const OPERATOR_NAMESPACE = 'platen'
/** Who the operator is there. */
export const OPERATOR_PERSONA = `system:serviceaccount:${OPERATOR_NAMESPACE}:platen-operator`

/** Starts one that the operator can ask for all it needs. Throws with the words of kubectl. */
export async function startInstalledKube(flags: NonNullable<KubeOptions['flags']> = []): Promise<KubeServer> {
  await using stack = new AsyncDisposableStack()
  const kube = stack.use(await startKube({ personas: [{ name: OPERATOR_PERSONA }], flags }))
  const { code, stderr } = await kube.kubectl(['create', 'namespace', OPERATOR_NAMESPACE])
  if (code !== 0) throw new Error(stderr)
  await kube.apply(['crds', 'rbac'].flatMap(manifestsIn))
  // Roles count a moment after they are applied.
  await eventually(
    () => kube.request({ path: '/apis/platen.dev/v1alpha1/plans', as: OPERATOR_PERSONA }),
    ({ status }) => status === 200,
  )
  stack.move()
  return kube
}

function manifestsIn(folder: string): readonly string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.yaml'))
  return names.map((name) => join(ROOT, folder, name))
}
