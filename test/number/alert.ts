/** What the runbook says of alerts, with the thresholds and windows of the alerts. */
import { DRAIN_SECONDS_MAX } from '@platen/adapters/setting/engine.ts'
import { parse } from 'yaml'
import { readText } from '../architecture/source-tree.ts'
import { word, words } from './spelling.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
}

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const UNITS_MS: Readonly<Record<string, number>> = { m: HOUR_MS / 60, h: HOUR_MS, d: 24 * HOUR_MS }

const { groups } = parse(readText('charts/platen/file/alerts.yaml')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap(({ rules }) => rules)

function ruleOf(alert: string): Rule {
  const rule = rules.find((other) => other.alert === alert)
  if (rule === undefined) throw new Error(`no alert ${alert}`)
  return rule
}

/** What its value is compared with: `> 60`, `< 14 * 86400`. */
function threshold(alert: string): number {
  const [, product = ''] = /[<>] (\d+(?: \* \d+)*)\s*$/.exec(ruleOf(alert).expr) ?? []
  return product.split(' * ').reduce((result, factor) => result * Number(factor), 1)
}

function durationMs(text: string | undefined): number {
  const [, count, unit = ''] = /^(\d+)([mhd])$/.exec(text ?? '') ?? []
  return Number(count) * (UNITS_MS[unit] ?? Number.NaN)
}

/** How long it must be true before the alert fires. */
const lastsMs = (alert: string) => durationMs(ruleOf(alert).for)

/** The time that its query looks back. */
const windowMs = (alert: string) => durationMs(/\[(\d+[mhd])[\]:]/.exec(ruleOf(alert).expr)?.[1])

/** `30 minutes` → `half an hour`, `15 minutes` → `a quarter of an hour`. */
function spoken(ms: number): string {
  if (ms === HOUR_MS / 2) return 'half an hour'
  return ms === HOUR_MS / 4 ? 'a quarter of an hour' : words(ms)
}

export const OF_ALERTS = [
  `For ${spoken(windowMs('PlatenQueueGrows') + lastsMs('PlatenQueueGrows'))}, more renders came in`,
  `ten of them or more in ${spoken(windowMs('PlatenTemplateFails'))}`,
  `more than ${word(threshold('PlatenEngineRestarts'))} times in ${spoken(windowMs('PlatenEngineRestarts'))}`,
  `of its memory for ${spoken(lastsMs('PlatenRendererMemory'))}`,
  `was blocked for ${words(threshold('PlatenEventLoopHeld') * SECOND_MS)} or more`,
  `have been due for ${spoken(windowMs('PlatenWebhooksWait'))}`,
  `For ${words(threshold('PlatenRetentionBehind') * SECOND_MS)}, no process has got through`,
  `For ${words(threshold('PlatenSettingsNotFollowed') * SECOND_MS)}, an API process has not known`,
  `clock of Prometheus by more than ${words(threshold('PlatenClockWrong') * SECOND_MS)}`,
  `has not kept up for ${spoken(windowMs('PlatenLogLinesLost') + lastsMs('PlatenLogLinesLost'))}`,
  `For ${words(lastsMs('PlatenDependencySlow'))}, one call of a dependency in twenty has taken longer than ${words(threshold('PlatenDependencySlow') * SECOND_MS)}`,
  `expires within ${words(threshold('PlatenCertificateExpires') * SECOND_MS)}`,
  `\`PLATEN_DRAIN_SECONDS\` is ${words(DRAIN_SECONDS_MAX * SECOND_MS)} at most`,
  `was told to end more than ${words(DRAIN_SECONDS_MAX * SECOND_MS)} ago`,
]
