/** What is made from the code, to be read without it: it cannot fall behind. `vitest -u` writes it. */

import type { Metrics } from '@platen/adapters/prometheus/registry.ts'
import { CONNECTION_SETTINGS } from '@platen/adapters/setting/connection.ts'
import { PROCESS_SETTINGS } from '@platen/adapters/setting/process.ts'
import {
  fileNameOf,
  type SettingEntry,
  type Settings,
  table as settingTable,
} from '@platen/adapters/setting/setting.ts'
import { slotsFor } from '@platen/adapters/setting/slots.ts'
import { TRACE_SETTINGS } from '@platen/adapters/setting/trace.ts'
import { SETTINGS as API_SETTINGS } from '@platen/api/config.ts'
import {
  type ErrorCode,
  type ErrorEntry,
  FAILURES,
  HTTP_ERRORS,
  type HttpErrorCode,
  reasonsOf,
} from '@platen/contract/domain/error.ts'
import {
  BODY_BYTES_MAX,
  PAGE_SIDE_PT_MAX,
  PAGE_SIDE_PT_MIN,
  PDF_BYTES_MAX,
  SCHEMA_BYTES_MAX,
  SCHEMA_WEIGHT_MAX,
  TEMPLATE_SOURCE_BYTES_MAX,
} from '@platen/contract/domain/limit.ts'
import { WARNINGS } from '@platen/contract/domain/warning.ts'
import { SETTINGS } from '@platen/embedded/config.ts'
import { SETTINGS as EVENTS_SETTINGS } from '@platen/events/config.ts'
import { SETTINGS as OPERATOR_SETTINGS } from '@platen/operator/config.ts'
import { PAGE_MEMORY_BYTES_MAX } from '@platen/renderer/browser/limit.ts'
import { SETTINGS as RENDERER_SETTINGS } from '@platen/renderer/config.ts'
import { RENDER_THREAD_HEAP_MIB_MAX } from '@platen/renderer/engine/limit.ts'
import { PDF_PAGES_MAX } from '@platen/renderer/limit.ts'
import {
  ELEMENT_DEPTH_MAX,
  ELEMENTS_MAX,
  FONT_BYTES_MAX,
  HTML_BYTES_MAX,
  IMAGE_PIXELS_MAX,
  LIQUID_MS_MAX,
  SANDBOX_MEMORY_BYTES_MAX,
  SANDBOX_STACK_BYTES_MAX,
} from '@platen/renderer/template/limit.ts'
import { TREE_VALUES_MAX } from '@platen/renderer/template/sandbox/json.ts'
import { ASSETS_BYTES_MAX } from '@platen/settings/compile/source.ts'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { explainedMessages } from './architecture/explained-message.ts'
import { logMessages, PROCESSES } from './architecture/log-call.ts'
import { readText } from './architecture/source-tree.ts'
import { ASSUMPTIONS, sizeOf } from './bench/cluster/scale/sizing.ts'
import { SIGNALS, type Signal } from './chaos/cluster/signal/signal.ts'
import { wireSource } from './client/wire-source.ts'
import { blockingOf } from './client-python/blocking.ts'
import { wireModule } from './client-python/wire-source.ts'
import { anApi } from './fixture/api.ts'
import { expositions } from './monitoring/exposition.ts'

test('docs/errors.md is the error catalog', async () => {
  await expect(errorsDocument()).toMatchFileSnapshot('../docs/errors.md')
})

test('docs/embedded.md lists every setting there is, but those of traces', async () => {
  const own = SETTINGS.entries.filter((entry) => !TRACE_SETTINGS.entries.includes(entry))
  const made = { settings: settingsTable(own) }
  await expect(documentWith('docs/embedded.md', made)).toMatchFileSnapshot('../docs/embedded.md')
})

test('docs/metrics.md lists every metric there is, and how many series each process has', async () => {
  const made = { metrics: await metricsTable(), series: await seriesTable(), signals: signalsTable() }
  await expect(documentWith('docs/metrics.md', made)).toMatchFileSnapshot('../docs/metrics.md')
})

test('docs/cluster.md lists every setting of every process', async () => {
  const [process, connections] = [settingTable(PROCESS_SETTINGS).entries, settingTable(CONNECTION_SETTINGS).entries]
  const common = new Set([...process, ...connections, ...TRACE_SETTINGS.entries])
  const own = ({ entries }: Settings<unknown>) => settingsTable(entries.filter((entry) => !common.has(entry)))
  const made = {
    'process-settings': settingsTable(process),
    'api-settings': own(API_SETTINGS),
    'renderer-settings': own(RENDERER_SETTINGS),
    'events-settings': own(EVENTS_SETTINGS),
    'operator-settings': own(OPERATOR_SETTINGS),
    connections: settingsTable(connections),
  }
  await expect(documentWith('docs/cluster.md', made)).toMatchFileSnapshot('../docs/cluster.md')
})

test('docs/traces.md lists every setting of traces', async () => {
  const made = { settings: settingsTable(TRACE_SETTINGS.entries) }
  await expect(documentWith('docs/traces.md', made)).toMatchFileSnapshot('../docs/traces.md')
})

test('client/src/wire.ts has the types of the OpenAPI document', async () => {
  const answer = await anApi().call({ path: '/openapi.json' })
  await expect(wireSource(answer.json())).toMatchFileSnapshot('../client/src/wire.ts')
})

test('the Python client has the types of the OpenAPI document, and a blocking client like that for asyncio', async () => {
  const folder = '../clients/python/src/platen_client'
  const answer = await anApi().call({ path: '/openapi.json' })
  await expect(wireModule(answer.json())).toMatchFileSnapshot(`${folder}/wire.py`)
  const blocking = blockingOf(readText('clients/python/src/platen_client/_async_client.py'))
  await expect(blocking).toMatchFileSnapshot(`${folder}/_client.py`)
})

function documentWith(path: string, made: Readonly<Record<string, string>>): string {
  return Object.entries(made).reduce((text, [name, table]) => filled(text, name, table), readText(path))
}

test('docs/templates.md names the limits of a template as they are', async () => {
  const document = filled(readText('docs/templates.md'), 'limits', limitsTable())
  await expect(document).toMatchFileSnapshot('../docs/templates.md')
})

test('docs/sizing.md has the sizes that its formula gives', async () => {
  const made = { sizes: sizesTable(), slots: slotsTable(), assumptions: assumptionsTable() }
  await expect(documentWith('docs/sizing.md', made)).toMatchFileSnapshot('../docs/sizing.md')
})

test('docs/logs.md lists every message of the log', async () => {
  await expect(documentWith('docs/logs.md', { messages: messagesTable() })).toMatchFileSnapshot('../docs/logs.md')
})

/** Keeps what people wrote of a message; of a new message they have to write it. test/logs.test.ts finds what is missing. */
function messagesTable(): string {
  const explained = explainedMessages()
  const rows = [...logMessages()].map(([message, { levels, processes }]) => {
    const { meaning = '', action = '' } = explained.get(message) ?? {}
    const each = PROCESSES.length === processes.length ? 'each' : processes.join(', ')
    return [`\`${message}\``, levels.join(', '), each, meaning, action]
  })
  return table(['message', 'level', 'process', 'meaning', 'what to do'], rows)
}

function errorsDocument(): string {
  return `# Errors

Generated from \`contract/src/domain/error.ts\` and \`contract/src/domain/warning.ts\` by \`npx vitest run test/docs.test.ts -u\`; do not edit.

Every refusal has the body \`{"error": {"code": …, "reason": …, "message": …, "request_id": …}}\`.
The message says what to do. The reason says in one word why, for programs: it tells apart what has the same code. More reasons may be added.
If the form of a request or its data has faults, \`details\` lists them: \`in\` says where it is. In the \`body\`, \`path\` is a JSON pointer; in \`query\`, \`header\` or \`path\`, it is the name of the parameter or header.
Neither repeats a value from the request.

The column *retry* says whether the same request, unchanged, may succeed later.
The column *fault* says who can fix it: the *caller*, the *tenant* (its template or its plan), or the *operator* of the service.

## Answers to a request

${table(
  ['code', 'status', 'reasons', 'retry', 'fault', 'meaning'],
  errorRows(HTTP_ERRORS, (code, { status }) => [`${status}`, reasonCell(code)]),
)}
## How a render fails

These codes are in \`error.code\` of a status record and in \`error_code\` of a webhook, and again in \`error.reason\` and \`error_reason\`.
A failed sync render is answered with \`INTERNAL_ERROR\`, or with \`VALIDATION_FAILED\` if its options do not fit. The reason is one of these codes, and the message begins with it.

${table(
  ['code', 'retry', 'fault', 'meaning'],
  errorRows(FAILURES, () => []),
)}
## What a render warns of

These codes are in \`warnings\` of the status record of a render that succeeded.

${table(
  ['code', 'meaning'],
  Object.entries(WARNINGS).map(([code, summary]) => [`\`${code}\``, summary]),
)}`
}

/** A row of each code. `between` gives the cells behind the code. */
function errorRows<Code extends ErrorCode>(
  catalog: Readonly<Record<Code, ErrorEntry>>,
  between: (code: Code, entry: ErrorEntry) => readonly string[],
): readonly (readonly string[])[] {
  // The catalogs have no other names.
  return (Object.entries(catalog) as [Code, ErrorEntry][]).map(([code, entry]) => {
    const { retryable, fault, summary } = entry
    return [`\`${code}\``, ...between(code, entry), retryable ? 'yes' : 'no', fault, summary]
  })
}

function reasonCell(code: HttpErrorCode): string {
  if (code === 'INTERNAL_ERROR') return 'a code of the next table'
  const reasons = reasonsOf(code).map((reason) => `\`${reason}\``)
  return reasons.join(', ')
}

function settingsTable(settings: readonly SettingEntry[]): string {
  const namesOf = (setting: SettingEntry) => [setting.name, ...(setting.isSecret ? [fileNameOf(setting)] : [])]
  const rows = settings.map((setting) => [
    namesOf(setting)
      .map((name) => `\`${name}\``)
      .join(' or '),
    setting.default,
    setting.description,
  ])
  return table(['setting', 'default', 'meaning'], rows)
}

/** All that is counted, by deployable, as a scrape shows it before anything has happened. */
async function metricsTable(): Promise<string> {
  const groups = Object.entries(await expositions({ withProcess: false }))
  const rows = await Promise.all(groups.map(metricRows))
  return table(['metric', 'of', 'type', 'labels', 'meaning'], rows.flat())
}

/** What each exposition begins with. */
const OF_ALL = /^platen_(build_info|event_loop_delay_\w+|memory_\w+) /

async function metricRows([deployable, metrics]: [string, Metrics]): Promise<readonly (readonly string[])[]> {
  const blocks = (await metrics.text()).split(/^# HELP /m).slice(1)
  const own = blocks.filter((block) => deployable === 'all' || !OF_ALL.test(block))
  return own.map((block) => {
    const [, name = '', help = '', type = ''] = /^(\S+) (.+)\n# TYPE \S+ (\w+)/.exec(block) ?? []
    return [`\`${name}\``, deployable, type, labelsOf(block), help]
  })
}

function signalsTable(): string {
  const alerts = parse(readText('charts/platen/file/alerts.yaml')) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
  }
  const conditions = new Map(
    alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr.trim().replaceAll(/\s+/g, ' ')])),
  )
  const code = (text: string) => `\`${text.replaceAll('|', '\\|')}\``
  const linked = (alert: string) => `[${alert}](runbook.md#${alert.toLowerCase()})`
  const rows = Object.entries<Signal>(SIGNALS).map(([fault, { selector, moves, wakes }]) => [
    fault,
    `${code(selector)} ${moves}`,
    'nobody' in wakes
      ? `none: ${wakes.nobody.replaceAll(/Platen\w+/g, linked)}`
      : `${linked(wakes.alert)}: ${code(conditions.get(wakes.alert) ?? '')}`,
  ])
  return table(['fault', 'metric', "alert's condition"], rows)
}

/** Those of tenants are in no process unless they are asked for. */
const DEPLOYABLES = ['api', 'renderer', 'events', 'operator']

async function seriesTable(): Promise<string> {
  const groups = Object.entries(await expositions({ withProcess: false }))
  const counts = new Map(
    await Promise.all(groups.map(async ([group, metrics]) => [group, await ownSeries(group, metrics)] as const)),
  )
  const rows = DEPLOYABLES.map((deployable) => {
    const own = ['all', 'all in a cluster', deployable, ...(deployable === 'events' ? ['events in a cluster'] : [])]
    return [`\`${deployable}\``, `${own.reduce((sum, group) => sum + (counts.get(group) ?? 0), 0)}`]
  })
  return table(['process', 'series'], rows)
}

async function ownSeries(group: string, metrics: Metrics): Promise<number> {
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.filter((line) => group === 'all' || !OF_ALL.test(line.replace('{', ' '))).length
}

const LABEL_VALUES_SHOWN_MAX = 12

/** The labels of one metric, with their values: but where there is only one, which is an example, or more than can be read. */
function labelsOf(block: string): string {
  const values = new Map<string, Set<string>>()
  for (const [, label = '', value = ''] of block.matchAll(/[{,](\w+)="([^"]*)"/g)) {
    if (label !== 'le') values.set(label, (values.get(label) ?? new Set()).add(value))
  }
  const shown = [...values].map(([label, known]) => {
    const { size } = known
    const set = [...known].map((value) => `\`${value}\``).join(', ')
    if (size > LABEL_VALUES_SHOWN_MAX) return `\`${label}\`: a code of [errors](errors.md)`
    return size > 1 ? `\`${label}\`: ${set}` : `\`${label}\``
  })
  return shown.join('; ')
}

function limitsTable(): string {
  const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`
  const count = (number: number) => number.toLocaleString('en-US')
  return table(
    ['what', 'at most'],
    [
      ['a source', `${TEMPLATE_SOURCE_BYTES_MAX / 1024} KiB`],
      ['the assets of a template together', mib(ASSETS_BYTES_MAX)],
      ['an image', `${count(IMAGE_PIXELS_MAX)} pixels`],
      ['a font, unpacked', mib(FONT_BYTES_MAX)],
      ['`variablesSchema`', `${SCHEMA_BYTES_MAX / 1024} KiB`],
      ['`variablesSchema`: its weight', count(SCHEMA_WEIGHT_MAX)],
      ['a request with its data', mib(BODY_BYTES_MAX)],
      ['a side of a page', `${count(PAGE_SIDE_PT_MAX)} points, and at least ${PAGE_SIDE_PT_MIN}`],
      ['pages', count(PDF_PAGES_MAX)],
      ['the PDF', mib(PDF_BYTES_MAX)],
      ['react_pdf: elements and texts', count(ELEMENTS_MAX)],
      ['react_pdf: values and keys in them, as JSON', count(TREE_VALUES_MAX)],
      ['react_pdf: elements within each other', count(ELEMENT_DEPTH_MAX)],
      [
        'react_pdf: memory and stack of the component',
        `${mib(SANDBOX_MEMORY_BYTES_MAX)} and ${mib(SANDBOX_STACK_BYTES_MAX)}`,
      ],
      ['react_pdf: memory of the layout', `${RENDER_THREAD_HEAP_MIB_MAX} MiB`],
      ['html: the HTML that Liquid gives', mib(HTML_BYTES_MAX)],
      ['html: filling it', `${LIQUID_MS_MAX / 1000} seconds`],
      ['html: memory of the page, its scripts included', mib(PAGE_MEMORY_BYTES_MAX)],
    ],
  )
}

/** For documents of each of these core milliseconds, so many a second. */
const SIZED = { documents: [38, 69], perSecond: [1, 10, 100, 1000] } as const

function sizesTable(): string {
  const columns = SIZED.documents.flatMap((coreMsOfDocument) =>
    SIZED.perSecond.map((perSecond) => ({
      head: `${perSecond.toLocaleString('en')}/s of ${coreMsOfDocument} ms`,
      size: sizeOf(perSecond, { ...ASSUMPTIONS, coreMsOfDocument }),
    })),
  )
  const rows: readonly (readonly [string, (size: ReturnType<typeof sizeOf>) => string | number])[] = [
    ['renderer pods, `minReplicas`', ({ renderers }) => renderers],
    ['`kafka.partitions`, and `maxReplicas` at most', ({ partitions }) => partitions],
    ['`autoscaling.lagPerReplica`', ({ lagPerReplica }) => lagPerReplica],
    ['API pods', ({ apiPods }) => apiPods],
    ['Kafka, disk of all brokers', ({ kafkaGib }) => gib(kafkaGib)],
    ['Redis, of a core', ({ redisShare }) => `${(100 * redisShare).toFixed(1)} %`],
    ['Redis, memory for charges', ({ redisGib }) => gib(redisGib)],
    ['S3, writes a second', ({ putsPerSecond }) => amount(putsPerSecond)],
    ['S3, stored', ({ s3Gib }) => gib(s3Gib)],
    ['cores of pods, a month', ({ dollarsPerMonth }) => dollars(dollarsPerMonth.cores)],
    ['S3 writes, a month', ({ dollarsPerMonth }) => dollars(dollarsPerMonth.puts)],
    ['S3 storage, a month', ({ dollarsPerMonth }) => dollars(dollarsPerMonth.s3)],
    ['disks of Kafka, a month', ({ dollarsPerMonth }) => dollars(dollarsPerMonth.disks)],
  ]
  return table(
    ['', ...columns.map(({ head }) => head)],
    rows.map(([name, cell]) => [name, ...columns.map(({ size }) => `${cell(size)}`)]),
  )
}

/** CPU limits and memory limits, in cores and GiB. */
const CONTAINERS = { cores: [1, 2, 4, 8], gib: [1, 2, 3, 4, 8] } as const

function slotsTable(): string {
  const machine = { cores: 64, memoryBytes: 256 * 2 ** 30 }
  const slotsIn = (cores: number, memory: number) =>
    slotsFor({ cores, memoryBytes: memory * 2 ** 30, isContainer: true, machine }).count
  return table(
    ['memory limit', ...CONTAINERS.cores.map((cores) => `${cores} ${cores === 1 ? 'core' : 'cores'}`)],
    CONTAINERS.gib.map((memory) => [`${memory} GiB`, ...CONTAINERS.cores.map((cores) => `${slotsIn(cores, memory)}`)]),
  )
}

function assumptionsTable(): string {
  const { price, ...assumed } = ASSUMPTIONS
  const rows = Object.entries({ ...assumed, ...price }).map(([name, value]) => [
    `\`${name}\``,
    value.toLocaleString('en'),
  ])
  return table(['assumption', 'value'], rows)
}

function amount(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en')
}

function gib(value: number): string {
  return `${amount(value)} GiB`
}

function dollars(value: number): string {
  return `$${amount(value)}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, head.map(() => '---'), ...rows]
  return cells.map((row) => `| ${row.join(' | ')} |\n`).join('')
}

/** The document with what is made between the marks of that name. */
function filled(text: string, name: string, made: string): string {
  const begin = `<!-- ${name}: written by \`npx vitest run test/docs.test.ts -u\` -->`
  const end = `<!-- end of ${name} -->`
  const [before, rest] = split(text, begin)
  const [, after] = split(rest, end)
  return [before, begin, '\n\n', made, '\n', end, after].join('')
}

/** The text before and after a mark that stands in it once. */
function split(text: string, mark: string): readonly [before: string, after: string] {
  const [before, after, ...more] = text.split(mark)
  if (before === undefined || after === undefined || more.length > 0) throw new Error(`expected one line ${mark}`)
  return [before, after]
}
