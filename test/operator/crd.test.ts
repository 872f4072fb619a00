/** The definitions on a real API server: what it takes and refuses, which our own reader takes and refuses too if they are of settings. */

import type { ErrorDetail } from '@platen/contract/domain/error.ts'
import type { Kind, ResourceManifest } from '@platen/contract/domain/resource-spec.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { brokenChanges } from '@platen/contract/schema/resource/rule.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldsOf, readDefinition } from '../crd/definition.ts'
import { borrowKube } from '../topology/run-server.ts'
import type { KubeAnswer, KubeApi } from '../topology/server/kube.ts'
import { API_KEY_ROWS } from './row/api-key.ts'
import { PLAN_ROWS } from './row/plan.ts'
import type { Row } from './row/row.ts'
import { TEMPLATE_ROWS } from './row/template.ts'
import { TENANT_ROWS } from './row/tenant.ts'

const ROWS: Readonly<Record<Kind, readonly Row[]>> = {
  Plan: PLAN_ROWS,
  Tenant: TENANT_ROWS,
  Template: TEMPLATE_ROWS,
  ApiKey: API_KEY_ROWS,
}
const API = '/apis/platen.dev/v1alpha1'
const PLACES: Readonly<Record<Kind, string>> = {
  Plan: `${API}/plans`,
  Tenant: `${API}/tenants`,
  Template: `${API}/namespaces/default/templates`,
  ApiKey: `${API}/namespaces/default/apikeys`,
}
const ERASURES = `${API}/namespaces/default/erasures`
const STRICT = 'fieldValidation=Strict'

let kube: KubeApi & AsyncDisposable
beforeAll(async () => {
  kube = await borrowKube()
})
afterAll(() => kube[Symbol.asyncDispose]())

const rows = Object.entries(ROWS).flatMap(([kind, table]) =>
  // Its keys are kinds. A row that is stored, to be changed, has a name of its own.
  table.map((row, at) => ({ ...row, kind: kind as Kind, name: row.metadata?.name ?? `row-${at}` })),
)
type NamedRow = (typeof rows)[number]

describe.for(rows)('a $kind $about', (row) => {
  const { refused } = row

  test('is judged by Kubernetes', async () => {
    const { status, body } = await submit(row)
    if (refused === undefined || refused.unsaid !== undefined)
      return expect({ status, body }).toMatchObject({ status: row.before ? 200 : 201 })
    expect([400, 422]).toContain(status)
    const expected = [refused.field, ...(refused.also === undefined ? [] : [refused.also])].map((field) => ({
      field,
      says: expect.stringContaining(refused.says),
    }))
    expect(faultsIn(body)).toEqual(expect.arrayContaining(expected))
  })

  test('is judged by our reader alike', () => {
    const faults = judge(row)
    const fields = new Set(faults.map(({ path }) => fieldOf(path)))
    if (refused === undefined) return expect(faults).toEqual([])
    expect([...fields].sort()).toEqual(
      [refused.ours ?? refused.field, refused.also].filter((field) => field !== undefined),
    )
    if (refused.unsaid !== undefined) expect(faults[0]?.message).toContain(refused.says)
    if (refused.ours !== undefined) expect([refused.ours, refused.field].toSorted()).toSatisfy(isAround)
  })
})

function manifestOf({ kind, name, metadata }: NamedRow, spec: JsonObject): JsonObject {
  return { apiVersion: 'platen.dev/v1alpha1', kind, metadata: { ...metadata, name }, spec }
}

/** Makes a manifest, or changes what it was; nothing but what it was is stored. */
async function submit(row: NamedRow): Promise<KubeAnswer> {
  const path = PLACES[row.kind]
  const body = manifestOf(row, row.spec)
  if (row.before === undefined) return kube.request({ method: 'POST', path: `${path}?dryRun=All&${STRICT}`, body })
  const made = await kube.request({ method: 'POST', path: `${path}?${STRICT}`, body: manifestOf(row, row.before) })
  expect(made).toMatchObject({ status: 201 })
  const metadata = made.body['metadata']
  const changed = { ...body, metadata }
  return kube.request({ method: 'PUT', path: `${path}/${row.name}?dryRun=All&${STRICT}`, body: changed })
}

/** What a refusal names. Of a field that is not known, or may be several things, only the message tells. */
function faultsIn(body: KubeAnswer['body']): readonly { readonly field: unknown; readonly says: string }[] {
  const details = body['details']
  const found: unknown = typeof details === 'object' && details !== null && 'causes' in details ? details.causes : []
  // Its causes have a field and a message each.
  const causes = (Array.isArray(found) ? found : []) as readonly { readonly field: string; readonly message: string }[]
  const unknown = [...String(body['message']).matchAll(/unknown field "([^"]+)"/g)]
  const unplaced = causes.flatMap(({ message }) => [...message.matchAll(/"(spec[^"]*)" must .*/g)])
  return [
    ...[...unknown, ...unplaced].map(([says, field]) => ({ field, says })),
    ...causes.map(({ field, message }) => ({ field, says: message })),
  ]
}

const read = resourceReader()

function judge(row: NamedRow): readonly ErrorDetail[] {
  const result = read(manifestOf(row, row.spec))
  if ('faults' in result) return result.faults
  return row.before === undefined ? [] : brokenChanges(writtenOf(row, row.before), result.written)
}

function writtenOf(row: NamedRow, spec: JsonObject): ResourceManifest {
  const result = read(manifestOf(row, spec))
  if ('faults' in result) throw new Error(`a row begins with what is refused: ${JSON.stringify(result.faults)}`)
  return result.written
}

/** `/spec/assets/1/name` as Kubernetes writes it: `spec.assets[1].name`. */
function fieldOf(pointer: string): string {
  const names = pointer.split('/').slice(1)
  const spelt = names.map((name) =>
    /^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`,
  )
  return spelt.join('').replace(/^\./, '')
}

function isAround([outer = '', inner = '']: readonly string[]): boolean {
  return inner.startsWith(outer) && /^[.[]/.test(inner.slice(outer.length))
}

const ALL = { allRenders: true }
const ID = '01KAPJ3Q80FVZQ9X2Y4M6N8P0R'

/** Creates an Erasure; a dry run if it has no name. */
function order(spec: JsonObject, { name }: { readonly name?: string } = {}): Promise<KubeAnswer> {
  const metadata = { name: name ?? 'tried', namespace: 'default' }
  const body = {
    apiVersion: 'platen.dev/v1alpha1',
    kind: 'Erasure',
    metadata,
    spec: { tenantRef: { name: 'acme' }, ...spec },
  }
  const query = name === undefined ? `${STRICT}&dryRun=All` : STRICT
  return kube.request({ method: 'POST', path: `${ERASURES}?${query}`, body })
}

describe('an Erasure', () => {
  test.for([
    [{ renders: [ID] }, undefined],
    [{ ...ALL, ttlSecondsAfterFinished: 0 }, undefined],
    [{ renders: [ID], allRenders: false, ttlSecondsAfterFinished: 31_536_000 }, undefined],
    [{}, 'needs either renders or allRenders: true, not both'],
    [{ allRenders: false }, 'needs either renders or allRenders: true, not both'],
    [{ ...ALL, renders: [ID] }, 'needs either renders or allRenders: true, not both'],
    [{ renders: [] }, 'spec.renders'],
    [{ renders: [ID, ID] }, 'Duplicate value'],
    [{ renders: [ID.toLowerCase()] }, 'spec.renders[0]'],
    [{ ...ALL, ttlSecondsAfterFinished: -1 }, 'spec.ttlSecondsAfterFinished'],
    [{ ...ALL, ttlSecondsAfterFinished: 31_536_001 }, 'spec.ttlSecondsAfterFinished'],
    [{ ...ALL, before: 'today' }, 'unknown field "spec.before"'],
  ] as const)('of %j: %s', async ([spec, refusal]) => {
    const { status, body } = await order(spec)
    expect(refusal === undefined ? status : body['message']).toEqual(
      refusal === undefined ? 201 : expect.stringContaining(refusal),
    )
  })

  test('may list a thousand renders and no more, and never changes', async () => {
    const ids = Array.from({ length: 1001 }, (_, at) => `${ID.slice(0, -4)}${String(at).padStart(4, '0')}`)
    expect((await order({ renders: ids })).status).toBe(422)
    expect((await order({ renders: ids.slice(1) }, { name: 'large' })).status).toBe(201)
    const path = `${ERASURES}/large?${STRICT}`
    const body = { spec: { ttlSecondsAfterFinished: 1 } }
    const changed = await kube.request({ method: 'PATCH', path, type: 'application/merge-patch+json', body })
    expect(changed.body['message']).toContain('cannot be changed')
  })
})

describe('kubectl', () => {
  beforeAll(async () => {
    for (const [kind, [least]] of Object.entries(ROWS)) {
      // Its keys are kinds, and none of the tables is empty.
      const row = { ...(least as Row), kind: kind as Kind, name: 'shown' }
      await kube.request({ method: 'POST', path: PLACES[row.kind], body: manifestOf(row, row.spec) })
    }
    await order(ALL, { name: 'shown' })
  })

  test.for([
    ['pplan', 'NAME HTML MULTIPLIER MONTHLY TENANTS READY REASON AGE'],
    ['ptenant', 'NAME PLAN SUSPENDED USED LIMIT TEMPLATES READY REASON PROPAGATED AGE'],
    ['ptpl', 'NAME TENANT CODE VERSION ENGINE READY REASON AGE'],
    ['pkey', 'NAME TENANT ENVIRONMENT KEY ID EXPIRES READY REASON AGE'],
    ['erasure', 'NAME TENANT ERASED NOT FOUND UNFINISHED READY REASON AGE'],
  ] as const)('shows of a %s: %s', async ([name, columns]) => {
    const { stdout } = await kube.kubectl(['get', name])
    expect(stdout.split('\n')[0]?.trim().split(/\s+/).join(' ')).toBe(columns)
  })

  test.for([
    ['plan', 'htmlEngineEnabled htmlEngineRenderMultiplier', 'false 1'],
    ['tenant', 'suspend deletionPolicy', 'false Retain'],
    ['template', 'version published locale', '1 true en-US'],
    ['apikey', 'environment suspend overlapHours', 'Live false 24'],
  ] as const)('shows the defaults of a %s: %s', async ([name, fields, values]) => {
    const paths = fields.split(' ').map((field) => `{.spec.${field}}`)
    const { stdout } = await kube.kubectl(['get', name, 'shown', `--output=jsonpath=${paths.join(' ')}`])
    expect(stdout).toBe(values)
  })

  test('shows the message of a condition in the wide columns', async () => {
    const { stdout } = await kube.kubectl(['get', 'ptenant', '--output=wide'])
    expect(stdout.split('\n')[0]?.trim()).toMatch(/AGE +MESSAGE$/)
  })

  test('shows all by their category', async () => {
    const { stdout } = await kube.kubectl(['api-resources', '--categories=platen', '--output=name'])
    expect(stdout.trim().split('\n').sort()).toEqual(
      ['apikeys', 'erasures', 'plans', 'templates', 'tenants'].map((plural) => `${plural}.platen.dev`),
    )
  })

  test.for([
    ['templates', 'spec.tenantRef.name=acme'],
    ['apikeys', 'spec.tenantRef.name=acme'],
    ['tenants', 'spec.planRef.name=starter'],
  ] as const)('selects %s by %s', async ([plural, selector]) => {
    const all = await kube.kubectl(['get', plural, '--output=name'])
    const some = await kube.kubectl(['get', plural, '--output=name', `--field-selector=${selector}`])
    const none = await kube.kubectl(['get', plural, '--output=name', `--field-selector=${selector}-2`])
    expect(some).toMatchObject({ code: 0, stdout: all.stdout })
    expect(all.stdout).not.toBe('')
    expect(none).toMatchObject({ code: 0, stdout: '' })
  })

  test.for(['Plan', 'Tenant', 'Template', 'ApiKey', 'Erasure'] as const)(
    'explains every field of a %s',
    async (kind) => {
      const { schema } = readDefinition(kind)
      const { stdout: names } = await kube.kubectl(['explain', '--recursive', `${kind.toLowerCase()}s`])
      const { body } = await kube.request({ path: '/openapi/v3/apis/platen.dev/v1alpha1' })
      const shown = JSON.stringify(body)
      for (const [place, { description = '' }] of fieldsOf(schema).filter(([at]) => !at.startsWith('metadata'))) {
        expect(shown).toContain(JSON.stringify(description))
        expect(names).toContain(
          place
            .replace(/(\[])$/, '')
            .split('.')
            .at(-1),
        )
      }
    },
  )
})

describe('a status', () => {
  const patch = (path: string, body: JsonObject) =>
    kube.request({ method: 'PATCH', path: `${path}?${STRICT}`, type: 'application/merge-patch+json', body })
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'InForce',
    message: '',
    lastTransitionTime: '2027-01-31T23:59:59Z',
  }

  test('is written apart from the spec, and neither touches the other', async () => {
    const path = `${PLACES.Plan}/apart`
    await kube.request({
      method: 'POST',
      path: PLACES.Plan,
      body: { apiVersion: 'platen.dev/v1alpha1', kind: 'Plan', metadata: { name: 'apart' }, spec: {} },
    })
    const both = {
      spec: { retentionDays: 1 },
      status: { tenants: 1, conditions: [{ ...condition, observedGeneration: 1 }] },
    }
    expect(await patch(path, both)).toMatchObject({ body: { metadata: { generation: 2 }, spec: both.spec } })
    // Nobody has written a status: kstatus takes the resource for one that is in progress.
    expect((await kube.request({ path })).body).toMatchObject({ status: { observedGeneration: -1 } })
    const answer = await patch(`${path}/status`, { ...both, spec: { retentionDays: 2 } })
    expect(answer.body).toMatchObject({ metadata: { generation: 2 }, ...both })
  })

  test.for([
    ['spec.status', { conditions: [{ ...condition, status: 'Maybe' }] }, 'status.conditions[0].status'],
    [
      'a reason of several words',
      { conditions: [{ ...condition, reason: 'not ready' }] },
      'status.conditions[0].reason',
    ],
    ['a condition twice', { conditions: [condition, condition] }, 'status.conditions[1]'],
    [
      'a condition without a time',
      { conditions: [{ ...condition, lastTransitionTime: null }] },
      'status.conditions[0].lastTransitionTime',
    ],
    ['a limit that is none', { effective: { retentionDays: 0 } }, 'status.effective.retentionDays'],
    ['half of what was published', { published: { revision: 1 } }, 'status.published.digest'],
    ['a field that it has not', { phase: 'Active' }, 'status.phase'],
  ] as const)('is refused with %s', async ([, status, field]) => {
    const path = `${PLACES.Tenant}/told`
    await kube.request({
      method: 'POST',
      path: PLACES.Tenant,
      body: {
        apiVersion: 'platen.dev/v1alpha1',
        kind: 'Tenant',
        metadata: { name: 'told' },
        spec: { planRef: { name: 'starter' } },
      },
    })
    const answer = await patch(`${path}/status`, { status })
    expect(faultsIn(answer.body).map(({ field }) => field)).toContain(field)
  })
})
