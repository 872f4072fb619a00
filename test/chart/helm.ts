/** The chart as Helm renders it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import { binaryOf } from '../topology/server/binary.ts'
import type { Ended } from '../topology/server/kube.ts'
import { VERSIONS } from '../topology/server/version.ts'

export const CHART = join(ROOT, 'charts/platen')

export type Values = Readonly<Record<string, unknown>>

/** Those that the chart is for: 4 first, and the newest 3. */
export const HELMS = ['helm', 'helm3'] as const
export type Helm = (typeof HELMS)[number]

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
  readonly by?: Helm
}

/** Runs Helm, with values on its standard input where its command takes any. */
export async function helm(args: readonly string[], values?: Values, by: Helm = 'helm'): Promise<Ended> {
  const child = spawn(binaryOf(by), values === undefined ? args : [...args, '--values=-'])
  child.stdin.on('error', () => undefined).end(JSON.stringify(values ?? {}))
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: typeof code === 'number' ? code : null, stdout, stderr }
}

/** Helm's own notion of Kubernetes is that of its build. */
export const KUBE_VERSION = `--kube-version=${VERSIONS.kubernetes}`

/** A release as Helm writes it. Throws with Helm's words where it refuses the values. */
export async function manifestOf(values: Values = {}, options: Rendering = {}): Promise<string> {
  const { release = 'platen', namespace = 'platen', kinds = KINDS_OF_OTHERS, by } = options
  const known = kinds.map((kind) => `--api-versions=${kind}`)
  const args = ['template', release, CHART, `--namespace=${namespace}`, KUBE_VERSION, ...known]
  const { code, stdout, stderr } = await helm(args, { ...REQUIRED, ...values }, by)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** All objects of a release. Throws with Helm's words where it refuses the values. */
export async function rendered(values: Values = {}, options: Rendering = {}): Promise<readonly KubeObject[]> {
  const documents = (await manifestOf(values, options)).split(/^---$/m)
  return documents.flatMap((document) => parsed(document) ?? [])
}

/** Parsing all objects takes more time than Helm does, and most of them are the same in all renderings of a file. */
function parsed(document: string): KubeObject | null {
  const known = PARSED.get(document)
  if (known !== undefined) return known
  const object: KubeObject | null = parse(document)
  PARSED.set(document, object)
  return object
}

const PARSED = new Map<string, KubeObject | null>()

/** What Deployments and Pods make pods of. */
export function podsOf(objects: readonly KubeObject[]): readonly PodTemplate[] {
  return [
    ...ofKind(objects, 'Deployment').map(({ spec }) => spec.template),
    ...ofKind(objects, 'Pod').map(({ metadata, spec }) => ({ metadata, spec })),
  ]
}

export type PodTemplate = Pick<KubeObject, 'metadata' | 'spec'>

export function ofKind(objects: readonly KubeObject[], kind: string): readonly KubeObject[] {
  return objects.filter((object) => object.kind === kind)
}
