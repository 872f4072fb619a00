/** The alerts: that each fires when it should and not before, names what processes show, and leads to its section of the runbook. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readText } from '../architecture/source-tree.ts'
import { CHART } from '../chart/helm.ts'
import { ALERT_CASES, type AlertCase } from './alert-case.ts'
import { allSeries, type Series, unknownIn } from './known.ts'
import { promtool } from './promtool.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

const ALERTS = join(CHART, 'file/alerts.yaml')
const file = parse(readFileSync(ALERTS, 'utf8')) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
const rules = file.groups.flatMap((group) => group.rules)
const RUNBOOK = readText('docs/runbook.md')
const DAYS_MINUTES = 2 * 24 * 60

test('Prometheus takes the rules', async () => {
  expect(await promtool('check', file)).toMatchObject({ isGood: true, output: expect.stringContaining('SUCCESS') })
})

test('each alert is tried', () => {
  const tried = new Set(ALERT_CASES.map(({ alert }) => alert))
  expect([...tried].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
})

/** A unit test of one alert, which fires or does not. */
function unitTest({ alert, at, labels, says }: AlertCase, series: AlertCase['fires'], doesFire: boolean): unknown {
  const rule = rules.find((each) => each.alert === alert)
  const fired = {
    exp_labels: { ...labels, ...rule?.labels },
    exp_annotations: { ...rule?.annotations, description: says },
  }
  return {
    rule_files: [ALERTS],
    // All rules are evaluated each time. Those of days would take seconds by the minute.
    evaluation_interval: at < DAYS_MINUTES ? '1m' : '10m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [{ eval_time: `${at}m`, alertname: alert, exp_alerts: doesFire ? [fired] : [] }],
      },
    ],
  }
}

describe.for(ALERT_CASES.map((each) => [`${each.alert} at ${each.at} minutes`, each] as const))('%s', ([, each]) => {
  test('fires, and says what is the matter', async () => {
    expect(await promtool('test', unitTest(each, each.fires, true))).toMatchObject({ isGood: true })
  })

  test('does not fire for less', async () => {
    expect(await promtool('test', unitTest(each, each.quiet, false))).toMatchObject({ isGood: true })
  })
})

describe('each alert', () => {
  let series: readonly Series[]
  beforeAll(async () => {
    series = await allSeries()
  })

  test.for(rules.map((rule) => [rule.alert, rule] as const))('%s names only what processes show', ([, { expr }]) => {
    expect(unknownIn(expr, series)).toEqual([])
  })

  test.for(rules.map((rule) => [rule.alert, rule] as const))(
    '%s says how bad it is, and leads to its section',
    ([, rule]) => {
      expect(['critical', 'warning']).toContain(rule.labels['severity'])
      expect(rule.annotations.runbook_url).toBe(`docs/runbook.md#${rule.alert.toLowerCase()}`)
    },
  )
})

describe('the runbook', () => {
  const sections = RUNBOOK.split(/^## /m).slice(1)
  const ofAlerts = sections.filter((section) => section.startsWith('Platen'))
  const nameOf = (section: string) => section.slice(0, section.indexOf('\n'))

  test('has a section for each alert, in their order, and none of another', () => {
    expect(ofAlerts.map(nameOf)).toEqual(rules.map(({ alert }) => alert))
  })

  test.for(ofAlerts.map((section) => [nameOf(section), section] as const))(
    'says of %s what whoever is woken asks',
    ([, section]) => {
      const heads = [...section.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, head]) => head)
      expect(heads).toEqual(['What it means.', 'Look.', 'Do.', 'Do not.'])
    },
  )
})
