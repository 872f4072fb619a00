/** What kube-score has to say of the chart: nothing critical but what is left as it is on purpose. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { binaryOf } from '../topology/server/binary.ts'
import { type KubeObject, ofKind, rendered } from './helm.ts'
import { MATRIX } from './values.ts'

/** What is not for us, by the flag that leaves it out, and why. */
const IGNORED: Readonly<Record<string, string>> = {
  '--ignore-container-cpu-limit':
    'a limit would slow renders down while cores of the node have nothing to do; requests share them as well',
  '--ignore-test=container-image-pull-policy':
    'tags are of exact versions, which do not change; with Always no pod starts while the registry is away',
}

interface Scored {
  readonly object_name: string
  readonly checks: readonly {
    readonly check: { readonly id: string }
    readonly grade: number
    readonly skipped: boolean
    readonly comments: readonly { readonly summary: string }[] | null
  }[]
}

/** What is critical, as `<object>: <check>: <what it says>`. */
async function criticalOf(objects: readonly KubeObject[]): Promise<readonly string[]> {
  const args = ['score', '--output-format=json', '--kubernetes-version=v1.31', ...Object.keys(IGNORED), '-']
  const child = spawn(binaryOf('kube-score'), args)
  child.stdin.end(objects.map((object) => stringify(object)).join('---\n'))
  const [scores] = await Promise.all([text(child.stdout), once(child, 'close')])
  return (JSON.parse(scores) as readonly Scored[]).flatMap(({ object_name: object, checks }) =>
    checks
      .filter(({ grade, skipped }) => grade === CRITICAL && !skipped)
      .map(({ check, comments }) => `${object}: ${check.id}: ${comments?.map(({ summary }) => summary).join(', ')}`),
  )
}

const CRITICAL = 1

test.for(Object.entries(MATRIX))('finds nothing critical with %s', async ([, values]) => {
  expect(await criticalOf(await rendered(values))).toEqual([])
})

test('sees what is critical', async () => {
  const [{ spec, ...deployment }] = ofKind(await rendered(), 'Deployment') as [KubeObject]
  const [container] = spec.template.spec.containers
  const containers = [{ ...container, resources: {}, securityContext: { privileged: true } }]
  const risky = { ...deployment, spec: { ...spec, template: { ...spec.template, spec: { containers } } } }
  const found = await criticalOf([risky])
  for (const check of ['container-resources', 'container-security-context-privileged', 'pod-networkpolicy'])
    expect(found).toContainEqual(expect.stringContaining(`: ${check}: `))
})
