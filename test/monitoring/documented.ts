/** The metrics of a process, as it serves them and as docs/metrics.md lists them. */
import { expect } from 'vitest'
import { readText } from '../architecture/source-tree.ts'

/** What Node and prom-client tell of every process by themselves. */
const BY_THEMSELVES = /^(process|nodejs)_/

/** Expects that a process of a cluster shows each metric that is documented of it, and no other. */
export function expectDocumented(deployable: string, exposition: string): void {
  const served = [...exposition.matchAll(/^# TYPE (\w+)/gm)].map(([, metric = '']) => metric)
  const rows = readText('docs/metrics.md').matchAll(/^\| `(\w+)` \| ([^|]+) \| (?:counter|gauge|histogram) \|/gm)
  const own = new Set(['all', 'all in a cluster', deployable, `${deployable} in a cluster`])
  const documented = [...rows].flatMap(([, metric = '', of = '']) =>
    of.split(', ').some((each) => own.has(each)) ? [metric] : [],
  )
  expect(served.filter((metric) => !BY_THEMSELVES.test(metric)).toSorted()).toEqual(documented.toSorted())
}
