/** What a large installation declares: thousands of tenants, each with its keys, every other one with a template. */
import { createHash } from 'node:crypto'
import { pathOf } from '@platen/operator/cluster/path.ts'
import { API_VERSION } from '@platen/operator/reconcile/resource-view.ts'
import { HTML, TSX } from '../../invoice.ts'

/** An object, and the collection it is created in. */
export interface Placed {
  readonly collection: string
  readonly object: object
}

export interface Estate {
  readonly namespaces: readonly Placed[]
  /** Their Secrets, to the operator. */
  readonly grants: readonly Placed[]
  readonly plans: readonly Placed[]
  readonly tenants: readonly Placed[]
  readonly keys: readonly Placed[]
  readonly templates: readonly Placed[]
}

/** The plan of every tenant: so that one change concerns them all. */
export const COMMON_PLAN = 'standard'
const PLANS = 20
const TEAMS = 20
const KEYS_PER_TENANT = 3
const LIMITS = { htmlEngineEnabled: true, asyncRateLimitPerMinute: 600, renderLimitMonthly: 10_000 }

export function estateOf(tenants: number): Estate {
  const numbers = Array.from({ length: tenants }, (_, number) => number)
  const teams = Array.from({ length: TEAMS }, (_, team) => teamOf(team))
  return {
    namespaces: teams.map((name) => ({
      collection: pathOf({ group: '', version: 'v1', plural: 'namespaces' }),
      object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    })),
    grants: teams.map(grantOf),
    plans: Array.from({ length: PLANS }, (_, at) => {
      const name = at === 0 ? COMMON_PLAN : `plan-${at}`
      return placed('plans', { kind: 'Plan', metadata: { name }, spec: LIMITS })
    }),
    tenants: numbers.map((number) =>
      placed('tenants', {
        kind: 'Tenant',
        metadata: { name: tenantOf(number) },
        spec: { planRef: { name: COMMON_PLAN }, namespaces: [teamOf(number)], overrides: { rateLimitPerMinute: 60 } },
      }),
    ),
    keys: numbers.flatMap((number) => Array.from({ length: KEYS_PER_TENANT }, (_, which) => keyOf(number, which))),
    templates: numbers.filter((number) => number % 2 === 0).map(templateOf),
  }
}

function grantOf(namespace: string): Placed {
  const [group, name] = ['rbac.authorization.k8s.io', 'platen-operator-secrets']
  return {
    collection: pathOf({ group, version: 'v1', plural: 'rolebindings', namespace }),
    object: {
      apiVersion: `${group}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: 'platen-operator', namespace: 'platen' }],
    },
  }
}

export function tenantOf(number: number): string {
  return `tenant-${number}`
}

function teamOf(number: number): string {
  return `team-${number % TEAMS}`
}

/** One in ten is generated; of the others the hash is brought. */
function keyOf(number: number, which: number): Placed {
  const name = `${tenantOf(number)}-${which}`
  const isGenerated = which === 0 && number % 10 < KEYS_PER_TENANT
  const hash = createHash('sha256').update(name).digest('hex')
  return placed('apikeys', {
    kind: 'ApiKey',
    metadata: { name, namespace: teamOf(number) },
    spec: {
      tenantRef: { name: tenantOf(number) },
      environment: which === 2 ? 'Test' : 'Live',
      ...(isGenerated ? { secretName: `${name}-key` } : { sha256: `sha256:${hash}` }),
    },
  })
}

/** Some KiB of source, no two alike, and a schema of 1.2 kB. */
function templateOf(number: number): Placed {
  const name = tenantOf(number)
  const fields = Array.from({ length: 14 }, (_, i) => [
    `field${i}`,
    { type: 'string', maxLength: 200, description: `Field ${i} of ${name}` },
  ])
  const source =
    number % 4 === 0
      ? { engine: 'Html', html: { template: { inline: `${HTML}<!-- ${name} -->` } } }
      : { reactPdf: { source: { inline: `${TSX}// ${name}\n` } } }
  return placed('templates', {
    kind: 'Template',
    metadata: { name: `${name}-invoice`, namespace: teamOf(number) },
    spec: {
      tenantRef: { name },
      code: 'invoice',
      variablesSchema: { type: 'object', required: ['field0'], properties: Object.fromEntries(fields) },
      ...source,
    },
  })
}

function placed(
  plural: string,
  object: { readonly kind: string; readonly metadata: Name; readonly spec: object },
): Placed {
  const [group, version] = API_VERSION.split('/') as [string, string]
  const { namespace } = object.metadata
  const place = { group, version, plural, ...(namespace !== undefined && { namespace }) }
  return { collection: pathOf(place), object: { apiVersion: API_VERSION, ...object } }
}

interface Name {
  readonly name: string
  readonly namespace?: string
}
