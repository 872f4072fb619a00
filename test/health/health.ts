/** What deployment tools make of Kubernetes objects, as their own libraries say it. `main.go` runs these. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { ROOT, readText } from '../architecture/source-tree.ts'

export interface Verdict {
  /** Of kstatus, by which Flux, Helm 4 and others judge. */
  readonly kstatus: Opinion
  /** Of Argo CD with the script that docs/gitops.md shows. Absent for an object that is being deleted. */
  readonly argoCd?: Opinion
}

interface Opinion {
  readonly status: string
  readonly message: string
}

/** Returns a verdict for each object. Go builds the program once, in its own cache. Throws if there is no Go, with how to get it. */
export async function healthOf(objects: readonly object[]): Promise<readonly Verdict[]> {
  const program = promisify(execFile)('go', ['run', '-C', join(ROOT, 'test/health'), '.', argoCdScript()])
  program.child.stdin?.end(JSON.stringify(objects))
  try {
    // Our own program prints it.
    return JSON.parse((await program).stdout) as readonly Verdict[]
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    throw isMissing ? new Error('go is not installed: .ci/apt-install golang-go', { cause }) : cause
  }
}

/** Reads the script from the ConfigMap in the document, as Argo CD does. */
function argoCdScript(): string {
  const [, manifest = ''] =
    /^```yaml\n(apiVersion: v1\nkind: ConfigMap\n[^]*?)^```/m.exec(readText('docs/gitops.md')) ?? []
  const { data } = parse(manifest) as { readonly data: Readonly<Record<'resource.customizations', string>> }
  const customizations: Readonly<Record<string, { readonly 'health.lua': string }>> = parse(
    data['resource.customizations'],
  )
  return customizations['platen.dev/*']?.['health.lua'] ?? ''
}
