/** Manifests: YAML, what is written in it, and what resources come to beside good ones of others. */
import assert from 'node:assert/strict'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { Resource } from '@platen/contract/domain/resource.ts'
import { SPEC_SCHEMAS } from '@platen/contract/domain/resource-spec.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import type { Json } from '@platen/lib/brand.ts'
import { type Compiled, compile, NO_PREVIOUS, resultsOf } from '@platen/settings/compilation/compile.ts'
import { checkRequestsOf } from '@platen/settings/compile/template.ts'
import { configMapsOf } from '@platen/settings/manifest/compile-folder.ts'
import { identify } from '@platen/settings/manifest/identity.ts'
import { type ManifestDocument, parseManifests } from '@platen/settings/manifest/text/parse.ts'
import * as fc from 'fast-check'
import { stringify } from 'yaml'
import { type Edit, edited, edits } from '../generate/bytes.ts'
import { conforming } from '../generate/conforming.ts'
import { json, text } from '../generate/json.ts'
import { schema } from '../generate/schema.ts'
import { targetOf } from '../target.ts'

const NAMES = ['a', 'b', 'c'] as const
const NAMESPACE = 'team'
/** What nobody else's manifests may keep from being in force. */
const GOOD = `
apiVersion: platen.dev/v1alpha1
kind: Plan
metadata: {name: good}
spec: {}
---
apiVersion: platen.dev/v1alpha1
kind: Tenant
metadata: {name: good}
spec: {planRef: {name: good}, namespaces: [good]}
---
apiVersion: platen.dev/v1alpha1
kind: Template
metadata: {name: good, namespace: good}
spec: {tenantRef: {name: good}, reactPdf: {source: {inline: 'export default () => null'}}}
---
apiVersion: platen.dev/v1alpha1
kind: ApiKey
metadata: {name: good, namespace: good}
spec: {tenantRef: {name: good}, sha256: 'sha256:${'a'.repeat(64)}'}
`

const reference = fc.oneof(fc.record({ name: fc.constantFrom(...NAMES, 'good') }), json)
const own = {
  planRef: reference,
  tenantRef: reference,
  namespaces: fc.oneof(fc.subarray([NAMESPACE, 'other', 'good']), json),
  variablesSchema: fc.oneof(
    schema.map((given) => ({ type: 'object', ...given })),
    json,
  ),
  sampleData: json,
}
const kinds = Object.entries(SPEC_SCHEMAS).map(([kind, spec]) => ({ kind, spec: conforming(spec, own) }))

interface Manifest {
  readonly kind: string
  readonly name: Json
  readonly namespace: Json
  readonly annotations: Json
  readonly spec: Json
}

const manifest = fc.oneof(
  ...kinds.map(({ kind, spec }) =>
    fc.record<Manifest>({
      kind: fc.constant(kind),
      name: fc.oneof({ arbitrary: fc.constantFrom(...NAMES), weight: 9 }, json),
      namespace: fc.oneof({ arbitrary: fc.constantFrom(NAMESPACE), weight: 9 }, json),
      annotations: fc.oneof(
        fc.constant({}),
        fc.dictionary(fc.constantFrom('platen.dev/rotate', 'platen.dev/rotate-webhook-secret'), text),
      ),
      spec,
    }),
  ),
)

interface Folder {
  readonly manifests: readonly Manifest[]
  /** Of the text. */
  readonly edits: readonly Edit[]
}

export const resource = targetOf<Folder>({
  name: 'resource',
  inputs: fc.record<Folder>({
    manifests: fc.array(manifest, { minLength: 1, maxLength: 6 }),
    edits: fc.oneof(fc.constant([]), edits),
  }),
  async open() {
    const read = resourceReader()
    const ids = systemIds()
    let previous: Compiled | undefined
    return {
      meet({ manifests, edits: by }) {
        const hostile = edited(Buffer.from(manifests.map(textOf).join('---\n')), by).toString()
        const parsed = [hostile, GOOD].map((given) => parseManifests({ text: given, file: 'a.yaml', read }))
        const documents = byPlace(parsed.flatMap((file) => file.documents))
        const { resources } = identify({ documents, known: {}, isComplete: true, now: 0 }, ids)
        // As the last folder is what was before this one, resources come, change and go.
        previous = compiled(resources, documents, previous)
        const good = resultsOf(previous).filter(
          ({ resource: { metadata } }) => metadata.name === 'good' && metadata.uid !== undefined,
        )
        const mine = good.filter(
          ({ resource: each }) => each.kind === 'Plan' || each.kind === 'Tenant' || each.metadata.namespace === 'good',
        )
        assert.equal(mine.length, 4)
        for (const { resource: each, settings } of mine)
          assert(settings !== undefined, `the good ${each.kind} is not in force`)
      },
      async [Symbol.asyncDispose]() {},
    }
  },
})

function textOf({ kind, name, namespace, annotations, spec }: Manifest): string {
  const place = kind === 'Template' || kind === 'ApiKey' ? { namespace } : {}
  return stringify({ apiVersion: 'platen.dev/v1alpha1', kind, metadata: { name, annotations, ...place }, spec })
}

/** Of two documents at one place the folder takes neither; here the later one. */
function byPlace(documents: readonly ManifestDocument[]): readonly ManifestDocument[] {
  return [...new Map(documents.map((document) => [document.place, document])).values()]
}

function compiled(
  resources: readonly Resource[],
  documents: readonly ManifestDocument[],
  previous: Compiled | undefined,
): Compiled {
  const configMaps = configMapsOf(documents)
  const templates = resources.filter((each) => each.kind === 'Template')
  const checks = new Map([...checkRequestsOf(templates, configMaps).keys()].map((key) => [key, []]))
  const found = { foundKeys: new Map(), webhookSecrets: new Map() }
  const rest = { defaults: DEFAULT_LIMITS, serviceBucket: 'platen', now: 0, previous: previous ?? NO_PREVIOUS }
  return compile({ resources, configMaps, checks, ...found, ...rest })
}
