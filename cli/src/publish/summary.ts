import type { Difference } from '@platen/adapters/redis/directory/publish/difference.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { type Compiled, resultsOf } from '@platen/settings/compilation/compile.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { count } from '../diagnostic/diagnostic.ts'

/** Differences that are listed. The rest is counted. */
const LINES_MAX = 50

export function formatDifferences(differences: readonly Difference[], { apiKeys }: Compiled): readonly string[] {
  const keys = new Map<KeyHash, string>()
  for (const { resource, settings } of apiKeys.values())
    for (const { hash } of settings ?? []) keys.set(hash, labelOf(resource))
  const lines = differences.slice(0, LINES_MAX).map(({ kind, name, change }) => {
    // A hash does not help a reader, and should not be shown.
    const named =
      kind === 'keys' ? (keys.get(name as KeyHash) ?? `ApiKey ${name.slice(0, 8)}…`) : `${NOUNS[kind]} ${name}`
    return `${named}: ${change}`
  })
  const more = differences.length - lines.length
  return more > 0 ? [...lines, `and ${more} more`] : lines
}

const NOUNS = { tenants: 'Tenant', templates: 'Template' } as const

/** Published resources by kind: `1 plan, 2 tenants, 3 templates, 4 keys`. */
export function formatCounts(compiled: Compiled): string {
  const inForce = resultsOf(compiled).filter(({ settings }) => settings !== undefined)
  const of = (kind: string, noun: string) =>
    count(inForce.filter(({ resource }) => resource.kind === kind).length, noun)
  return [of('Plan', 'plan'), of('Tenant', 'tenant'), of('Template', 'template'), of('ApiKey', 'key')].join(', ')
}

export function formatReaders({ all, enforcing }: { readonly all: number; readonly enforcing: number }): string {
  if (all === 0) return 'no API process is connected'
  return `enforced by ${enforcing} of ${all} API process${all === 1 ? '' : 'es'}`
}
