/** What the chart makes of the alerts and dashboards: nothing, unless it is asked to. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readText } from '../architecture/source-tree.ts'
import { CHART, type KubeObject, ofKind, rendered } from '../chart/helm.ts'

const RULES = { monitoring: { rules: { enabled: true } } }
const DASHBOARDS = { monitoring: { dashboards: { enabled: true } } }
const dashboardsOf = (objects: readonly KubeObject[]) =>
  ofKind(objects, 'ConfigMap').filter(({ metadata }) => metadata.name.includes('dashboard'))
const read = (file: string) => readFileSync(join(CHART, 'file', file), 'utf8')

test('without values for it there is no object of the Prometheus operator, and no dashboard', async () => {
  const objects = await rendered()
  expect(objects.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com'))).toEqual([])
  expect(dashboardsOf(objects)).toEqual([])
})

test('the rules are those of the file, as it is loaded without the operator', async () => {
  const rules = ofKind(await rendered(RULES), 'PrometheusRule')
  expect(rules.map(({ spec }) => spec)).toEqual([parse(read('alerts.yaml'))])
})

test('links lead to where the runbook is kept', async () => {
  const runbookUrl = 'https://wiki.example.com/platen'
  const [rule] = ofKind(await rendered({ monitoring: { rules: { enabled: true, runbookUrl } } }), 'PrometheusRule')
  const links = rule?.['spec'].groups.flatMap(({ rules }: { rules: { annotations: { runbook_url: string } }[] }) =>
    rules.map(({ annotations }) => annotations.runbook_url),
  )
  expect(links.length).toBeGreaterThan(10)
  for (const link of links) expect(link).toMatch(/^https:\/\/wiki\.example\.com\/platen#platen[a-z]+$/)
})

test('each dashboard is a ConfigMap that the sidecar of Grafana finds', async () => {
  const maps = dashboardsOf(await rendered(DASHBOARDS))
  expect(maps.map(({ metadata }) => metadata.labels?.['grafana_dashboard'])).toEqual(['1', '1'])
  for (const name of ['platform', 'tenants']) {
    const map = maps.find(({ metadata }) => metadata.name === `platen-dashboard-${name}`)
    expect(JSON.parse(map?.['data'][`platen-${name}.json`])).toEqual(JSON.parse(read(`dashboard/${name}.json`)))
  }
})

test('the runbook asks for Deployments, components and ScaledObjects that there are', async () => {
  const objects = await rendered()
  const names = new Set(objects.map(({ kind, metadata }) => `${kind.toLowerCase()} ${metadata.name}`))
  const components = new Set(
    ofKind(objects, 'Deployment').map(({ spec }) => spec.template.metadata.labels['app.kubernetes.io/component']),
  )
  const runbook = readText('docs/runbook.md')
  const asked = [...runbook.matchAll(/app\.kubernetes\.io\/component=([\w-]+)/g)].map(([, component]) => component)
  expect(asked.length).toBeGreaterThan(5)
  expect(asked.filter((component) => !components.has(component))).toEqual([])
  const named = [...runbook.matchAll(/\b(deployment|scaledobject) (platen-[\w-]+)/g)].map(
    ([, kind, name]) => `${kind} ${name}`,
  )
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((name) => !names.has(name))).toEqual([])
})
