import type { Condition, ConditionReason } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import type { Warning } from '@platen/contract/domain/warning.ts'
import { describe, expect, test } from 'vitest'
import { aTemplateResource } from '../../test/fixture/resource.ts'
import { formatDiagnostics } from './diagnostic/diagnostic.ts'
import type { Locations } from './diagnostic/location.ts'
import { enginesByDefault, previewDiagnostics, schemaDiagnostic } from './template.ts'

const source = { inline: '<p>' }
const template = aTemplateResource({ spec: { html: { template: source } } })

/** Locations of a folder in which every field is at its own pointer. */
const places: Locations = {
  ofFault: () => ({ file: 'fault' }),
  ofField: (_resource, pointer) => ({ file: pointer }),
  ofValue: (_resource, pointer) => ({ file: pointer }),
  ofSource: (_template, message) => (message.startsWith('template.') ? { file: 'source' } : undefined),
}

describe('what a preview comes to', () => {
  const warnings: readonly Warning[] = [
    { code: 'javascript_disabled', message: 'not run' },
    { code: 'missing_glyph', message: 'no font has U+4E00' },
  ]
  const preview = { pdf: new Uint8Array(), pages: 1, warnings, durationMs: 1, console: [] }
  const condition = (reason: ConditionReason): Condition => {
    return { type: 'EngineAllowed', status: 'False', reason, message: '', observedGeneration: 1 }
  }
  const spelled = (reason: ConditionReason) =>
    previewDiagnostics(
      { resource: template, conditions: [condition(reason)], limits: DEFAULT_LIMITS, engine: 'html', preview },
      places,
    ).map(({ file, resource, subject, message, isWarning }) => [file, isWarning, resource, subject, message])

  test('is warned of, engine by engine', () => {
    expect(spelled('EngineNotInPlan')).toEqual([
      ['/spec/html', true, 'Template team-acme/invoice', 'javascript_disabled', 'html: not run'],
      ['/spec/html', true, 'Template team-acme/invoice', 'missing_glyph', 'html: no font has U+4E00'],
    ])
  })

  test('is not warned of twice', () => {
    expect(spelled('JavaScriptNotInPlan').map(([, , , code]) => code)).toEqual(['missing_glyph'])
  })

  test('shows first what the template wrote to its console, be it printed or not', () => {
    const console = [{ level: 'warn', place: 'template.tsx:2:3', text: 'so far' }] as const
    const note = {
      file: 'source',
      resource: 'Template team-acme/invoice',
      subject: 'console.warn',
      message: 'template.tsx:2:3: so far',
      isWarning: true,
      isNote: true,
    }
    const failure = { code: 'template_error', message: 'template.tsx:1:1: no' } as const
    for (const each of [
      { ...preview, console },
      { failure, console },
    ]) {
      const found = previewDiagnostics(
        { resource: template, conditions: [], limits: DEFAULT_LIMITS, engine: 'react_pdf', preview: each },
        places,
      )
      expect(found[0]).toEqual(note)
      expect(found.length).toBeGreaterThan(1)
    }
    expect(formatDiagnostics([note])).toEqual([
      'source: note: Template team-acme/invoice: console.warn: template.tsx:2:3: so far',
    ])
  })

  test('is warned of where the source or the page is, and of how many more there are', () => {
    const placed = {
      warnings: [
        { code: 'text_overflow', place: 'template.tsx:3:4', message: 'over' },
        { code: 'text_overlap', place: 'page 3', message: 'under' },
      ],
      warningsOmitted: 4,
    } as const
    const shown = previewDiagnostics(
      {
        resource: template,
        conditions: [],
        limits: DEFAULT_LIMITS,
        engine: 'react_pdf',
        preview: { ...preview, ...placed },
      },
      places,
    )
    expect(shown.map(({ file, subject, message, isWarning }) => [file, isWarning, subject, message])).toEqual([
      ['source', true, 'text_overflow', 'template.tsx:3:4: over'],
      ['/spec/reactPdf', true, 'text_overlap', 'react_pdf: page 3: under'],
      ['/spec/reactPdf', true, undefined, 'react_pdf: and 4 more warnings'],
    ])
  })

  test.for<[boolean, boolean, boolean, boolean]>([
    [false, false, true, false],
    [true, false, true, true],
    [false, true, true, true],
    [true, true, false, false],
  ])('of a strict template (%j) or plan (%j) with a warning (%j) is a fault: %j', ([own, plan, isWarned, isFault]) => {
    const resource = aTemplateResource({ spec: { html: { template: source }, strict: own } })
    const { pdf, pages, durationMs } = preview
    const document = isWarned ? preview : { pdf, pages, durationMs, console: [] }
    const limits = { ...DEFAULT_LIMITS, strict: plan }
    // Also if the only warning is one that a condition has reported.
    const conditions = [condition('JavaScriptNotInPlan')]
    const shown = previewDiagnostics({ resource, conditions, limits, engine: 'html', preview: document }, places)
    expect(shown.filter(({ isWarning }) => !isWarning).map(({ subject }) => subject)).toEqual(
      isFault ? ['document_warnings'] : [],
    )
  })

  test.for([
    ['react_pdf', 'template.tsx:1:1: no', 'source', 'template.tsx:1:1: no'],
    ['react_pdf', 'the document has 3000 pages', '/spec/reactPdf', 'react_pdf: the document has 3000 pages'],
    ['html', 'the document has 3000 pages', '/spec/html', 'html: the document has 3000 pages'],
  ] as const)('is a fault of %s when it fails with %j', ([engine, message, file, expected]) => {
    const failed = { failure: { code: 'page_limit', message }, console: [] } as const
    expect(
      previewDiagnostics(
        { resource: template, conditions: [], limits: DEFAULT_LIMITS, engine, preview: failed },
        places,
      ),
    ).toEqual([
      { file, resource: 'Template team-acme/invoice', subject: 'page_limit', message: expected, isWarning: false },
    ])
  })
})

test.for([
  [{ html: { template: source } }, ['react_pdf', 'html']],
  [{ html: { template: source }, engine: 'Html' }, ['html', 'react_pdf']],
  [{ html: { template: source }, engine: 'ReactPdf' }, ['react_pdf', 'html']],
  [{}, ['react_pdf']],
] as const)('of the engines of %j the first is %j', ([spec, engines]) => {
  expect(enginesByDefault(aTemplateResource({ spec }))).toEqual(engines)
})

test.for([
  ['data/properties/a/type must be string', '/properties/a/type'],
  ['/$defs/x: is not a schema', '/$defs/x'],
  ['/nowhere: is not a schema', ''],
  ["can't resolve reference #/$defs/none from id #", '/$defs/none'],
  ['needs type: object', ''],
] as const)('a schema of which is said %j is wrong at %j', ([message, pointer]) => {
  const schema = { type: 'object', $defs: {}, properties: {} }
  const resource = aTemplateResource({ spec: { variablesSchema: schema } })
  expect(schemaDiagnostic(resource, message, places).file).toBe(`/spec/variablesSchema${pointer}`)
})
