/** The dashboards of Grafana, made of `panel.ts`; `vitest -u` writes them. Each query is tried on what the processes show. */
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { CHART } from '../chart/helm.ts'
import { allSeries, type Series, textOf, unknownIn } from './known.ts'
import { DASHBOARDS, type Dashboard, type Panel } from './panel.ts'
import { promtool } from './promtool.ts'

/** The newest of Grafana 11, which later ones read. */
const SCHEMA_VERSION = 39
const [WIDTH, HEIGHT] = [12, 8]
const SOURCE = { type: 'prometheus', uid: '${datasource}' }

function dashboardOf({ uid, title, description, variables, panels }: Dashboard): unknown {
  return {
    uid,
    title,
    description,
    tags: ['platen'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: variablesOf(variables) },
    panels: panels.map(panelOf),
  }
}

/** Each narrowed by those before it. */
function variablesOf({ metric, labels }: Dashboard['variables']): readonly unknown[] {
  const source = { name: 'datasource', label: 'data source', type: 'datasource', query: 'prometheus' }
  const queried = ['namespace', ...labels].map((name, index) => {
    const before = ['namespace', ...labels].slice(0, index).map((label) => `${label}=~"$${label}"`)
    const of = before.length === 0 ? metric : `${metric}{${before.join(',')}}`
    return {
      name,
      type: 'query',
      datasource: SOURCE,
      query: { query: `label_values(${of}, ${name})`, refId: name },
      refresh: 2,
      multi: true,
      includeAll: true,
      // Of series without the label, too, as where Prometheus adds no namespace.
      allValue: '.*',
      current: { text: 'All', value: '$__all' },
    }
  })
  return [source, ...queried]
}

function panelOf({ title, description, unit, queries }: Panel, index: number): unknown {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    description,
    datasource: SOURCE,
    gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: Object.entries(queries).map(([legend, expr], number) => ({
      refId: `q${number + 1}`,
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  }
}

test.for(Object.entries(DASHBOARDS))('%s is as it is made here', async ([name, dashboard]) => {
  const text = `${JSON.stringify(dashboardOf(dashboard), undefined, 2)}\n`
  await expect(text).toMatchFileSnapshot(join(CHART, `file/dashboard/${name}.json`))
})

/** What Grafana puts in the place of its variables. */
function asked(expr: string): string {
  return expr
    .replaceAll('$__rate_interval', '5m')
    .replaceAll('$__range', '1h')
    .replaceAll(/"\$\w+"/g, '".*"')
}

const queries = Object.values(DASHBOARDS).flatMap(({ panels }) =>
  panels.flatMap((panel) =>
    Object.values(panel.queries).map((expr, index) => [`${panel.title}, ${index + 1}`, asked(expr)] as const),
  ),
)

describe('each query', () => {
  let series: readonly Series[]
  beforeAll(async () => {
    series = await allSeries()
  })

  test.for(queries)('names only what processes show: %s', ([, expr]) => {
    expect(unknownIn(expr, series)).toEqual([])
  })

  test('gives something, on all that processes show', async () => {
    const input = new Set(series.map(textOf))
    const verdict = await promtool('test', {
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: [...input].map((name) => ({ series: name, values: '1+1x70' })),
          promql_expr_test: queries.map(([, expr]) => ({
            expr: `count(${expr}) > bool 0`,
            eval_time: '60m',
            exp_samples: [{ labels: '{}', value: 1 }],
          })),
        },
      ],
    })
    expect(verdict).toMatchObject({ isGood: true })
  })
})

test('every panel that the runbook names is there, and the runbook names those of the platform that it needs', () => {
  const titles = Object.values(DASHBOARDS).flatMap(({ panels }) => panels.map(({ title }) => title))
  const paragraphs = readText('docs/runbook.md').match(/^\*\*Look\.\*\* .+$/gm) ?? []
  const named = paragraphs.flatMap((text) =>
    [...text.matchAll(/\*([A-Z][^*:.]+)\*(?!\*)/g)].map(([, title = '']) => title),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((title) => !titles.includes(title))).toEqual([])
  expect(titles.filter((title) => !named.includes(title)).toSorted()).toEqual([
    'Live and sandbox',
    'Requests',
    'Templates that are used most',
  ])
})
