/** Settings of many tenants, as they come in practice: a few plans, three keys and two templates each, no two schemas alike. */
import { createHash } from 'node:crypto'
import type { KeyHash, Template, TemplateCode, TemplateDigest, TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { aTemplate, aTenant } from '../../../fixture/build.ts'

/** With another revision every tenant has other limits. */
export function manySettings(revision: number, tenants: number): DirectorySnapshot {
  const numbers = Array.from({ length: tenants }, (_, number) => number)
  // Brands are put on by what validates input; these are valid by being written here.
  const idOf = (number: number) => `tenant-${number}` as TenantId
  const all = numbers.map((number) =>
    aTenant({
      id: idOf(number),
      account: digest(`uid ${number}`).slice(0, 32),
      limits: { rateLimitPerMinute: 60 + (number % 5) + 100 * revision, renderLimitMonthly: 10_000 * (number % 3) + 1 },
      webhookSecrets: [{ sealed: `v1.${digest(`secret ${number}`)}${digest(`more ${number}`).slice(0, 40)}` }],
    }),
  )
  const keys = numbers.flatMap((number) =>
    [0, 1, 2].map((which) => {
      const hash = digest(`key ${number} ${which}`) as KeyHash
      const environment = which === 2 ? ('test' as const) : ('live' as const)
      return { hash, tenant: idOf(number), environment, suspended: false }
    }),
  )
  const templates = numbers.map((number) => {
    const own = ['invoice', 'letter'].map((code) => templateOf(idOf(number), code as TemplateCode))
    return [idOf(number), new Map(own.map((template) => [template.code, template]))] as const
  })
  return {
    revision,
    tenants: new Map(all.map((tenant) => [tenant.id, tenant])),
    keys: new Map(keys.map((key) => [key.hash, key])),
    templates: new Map(templates),
  }
}

/** With a schema of some 1.2 kB, as that of the example's invoice. */
function templateOf(tenant: TenantId, code: TemplateCode): Template {
  const fields = Array.from({ length: 14 }, (_, i) => [
    `${code}Field${i}`,
    { type: 'string', maxLength: 200, description: `Field ${i} of ${tenant}` },
  ])
  const variablesSchema = { type: 'object', required: [`${code}Field0`], properties: Object.fromEntries(fields) }
  const own = digest(`${tenant}/${code}`) as TemplateDigest
  return aTemplate({ tenant, code, name: `${code} of ${tenant}`, digest: own, variablesSchema })
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
