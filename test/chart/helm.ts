/** The chart as Helm renders it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import { binaryOf } from '../topology/server/binary.ts'
import type { Ended } from '../topology/server/kube.ts'

export const CHART = join(ROOT, 'charts/platen')

export type Values = Readonly<Record<string, unknown>>

/** An object of Kubernetes, as far as it is looked at. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  // Each kind has others; tests say what they look for.
  // oxlint-disable-next-line typescript/no-explicit-any -- what these may be, the API server knows
  readonly [field: string]: any
}

/** The least that has to be said. */
export const REQUIRED: Values = {
  secretName: 'platen',
  kafka: { brokers: ['kafka-0.kafka:9092', 'kafka-1.kafka:9092'] },
  redis: { secretName: 'platen-redis' },
  s3: { bucket: 'platen' },
}

/** What the cluster is said to serve beside its own kinds. */
const KINDS_OF_OTHERS = ['keda.sh/v1alpha1/ScaledObject']

export interface Rendering {
  readonly release?: string
  readonly namespace?: string
  readonly kinds?: readonly string[]
}

/** Runs Helm on the chart with values on its standard input. */
export async function helm(args: readonly string[], values: Values): Promise<Ended> {
  const child = spawn(binaryOf('helm'), [...args, '--values=-'])
  child.stdin.on('error', () => undefined).end(JSON.stringify(values))
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: typeof code === 'number' ? code : null, stdout, stderr }
}

/** All objects of a release. Throws with Helm's words where it refuses the values. */
export async function rendered(values: Values = {}, options: Rendering = {}): Promise<readonly KubeObject[]> {
  const { release = 'platen', namespace = 'platen', kinds = KINDS_OF_OTHERS } = options
  const known = kinds.map((kind) => `--api-versions=${kind}`)
  const args = ['template', release, CHART, `--namespace=${namespace}`, ...known]
  const { code, stdout, stderr } = await helm(args, { ...REQUIRED, ...values })
  if (code !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as KubeObject | null) ?? [])
}

/** Those of a kind. */
export function ofKind(objects: readonly KubeObject[], kind: string): readonly KubeObject[] {
  return objects.filter((object) => object.kind === kind)
}
