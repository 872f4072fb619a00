import { describe, expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { FORMAT, NewerFormat } from '../domain/format.ts'
import { LANES, MODES, type RenderRecord } from '../domain/render.ts'
import { ENGINES } from '../domain/render-options.ts'
import { renderRecordCodec, renderRecordSchema } from './render-record.ts'

/** All fields, and which of them are optional. Compiles only while it agrees with the type. */
const FIELDS: {
  readonly [Name in keyof Required<RenderRecord>]: {} extends Pick<RenderRecord, Name> ? 'may' : 'must'
} = {
  id: 'must',
  tenant: 'must',
  account: 'must',
  environment: 'must',
  mode: 'must',
  lane: 'must',
  engine: 'must',
  template: 'must',
  data: 'must',
  options: 'must',
  requestData: 'may',
  deadlineMs: 'must',
  javascriptEnabled: 'must',
  strict: 'may',
  storage: 'must',
  webhookUrl: 'may',
  reference: 'may',
  metadata: 'may',
  batch: 'may',
  requestId: 'must',
  trace: 'may',
  acceptedAt: 'must',
  units: 'must',
  period: 'must',
  retentionDays: 'must',
}

const { encode, decode } = renderRecordCodec()
const version = String(FORMAT)

describe('the schema of a render record', () => {
  test('has the fields of the type, and asks for those that are always there', () => {
    expect(Object.keys(renderRecordSchema.properties).sort()).toStrictEqual(Object.keys(FIELDS).sort())
    const must = Object.entries(FIELDS).flatMap(([name, how]) => (how === 'must' ? [name] : []))
    expect([...renderRecordSchema.required].sort()).toStrictEqual(must.sort())
  })

  test.for<readonly [string, Partial<RenderRecord>]>([
    ['as small as they come', {}],
    [
      'of everything',
      { webhookUrl: 'https://example.com/hook?x=1', options: { filename: 'März.pdf', page_size: 'A4' } },
    ],
    ['whose file name was let in by an older release', { options: { filename: 'invoice-\u202efdp.exe' } }],
    ['of a trace', { trace: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'rojo=1' } }],
    ['whose data is stored', { data: { stored: { bucket: 'platen', key: 'acme/01/input' } } }],
    [
      'whose request is stored',
      { requestData: 'Stored', data: { stored: { bucket: 'platen', key: 'acme/01/input' } } },
    ],
    ['of a strict template', { strict: true, options: { strict: false } }],
    ['whose tenant has no prefix', { storage: { bucket: 'platen', prefix: '' } }],
    [
      'with data of every kind',
      { data: { inline: { text: 'Ελληνικά \u0000 🧾', deep: [{ amount: 0.1 }, null, true] } } },
    ],
    ...ENGINES.flatMap((engine) => LANES.map((lane) => [`of ${engine} and ${lane}`, { engine, lane }] as const)),
    ...MODES.map((mode) => [`of mode ${mode}`, { mode }] as const),
  ])('takes records %s', ([, fields]) => {
    const record = aRecord(fields)
    expect(decode(version, Buffer.from(encode(record)))).toStrictEqual({ value: record })
  })

  test('leaves fields alone that it does not know', () => {
    const record = { ...aRecord(), later: { added: true } }
    expect(decode(version, Buffer.from(JSON.stringify(record)))).toStrictEqual({ value: record })
  })

  test.for(renderRecordSchema.required)('refuses one without %s, by name', (name) => {
    const { [name]: _left, ...rest } = aRecord()
    expect(decode(version, Buffer.from(JSON.stringify(rest)))).toStrictEqual({ fault: `/${name} is required` })
  })

  test.for<[string, object, string]>([
    ['an engine of its own', { engine: 'typst' }, '/engine must be one of'],
    ['an id that is none', { id: '../../etc/passwd' }, '/id does not have the required form'],
    ['a prefix that leads elsewhere', { storage: { bucket: 'platen', prefix: '../other/' } }, '/storage/prefix'],
    ['stored data that leads elsewhere', { data: { stored: { bucket: 'platen', key: 'a/../b' } } }, '/data/stored/key'],
    ['data that is neither here nor there', { data: {} }, '/data'],
    ['a deadline of nothing', { deadlineMs: 0 }, '/deadlineMs'],
  ])('refuses one with %s', ([, fields, fault]) => {
    const bytes = Buffer.from(JSON.stringify({ ...aRecord(), ...fields }))
    expect(decode(version, bytes)).toStrictEqual({ fault: expect.stringContaining(fault) })
  })

  test('quotes nothing of what it refuses', () => {
    const bytes = Buffer.from(JSON.stringify({ ...aRecord(), tenant: ['a secret'], engine: 'a secret' }))
    expect(JSON.stringify(decode(version, bytes))).not.toContain('a secret')
  })
})

test('a record of a newer format is none of these, whatever it has become', () => {
  expect(decode(String(FORMAT + 1), Buffer.from('{"everything":"is different"}'))).toStrictEqual({
    newer: new NewerFormat(FORMAT + 1),
  })
})

describe('what is no record', () => {
  const bytes = Buffer.from(encode(aRecord()))
  test.for<[string, string | undefined, Uint8Array | null, string]>([
    ['without a version', undefined, bytes, 'it has no version'],
    ['of version zero', '0', bytes, 'version "0" is unknown'],
    ['of a version that is no number', '1\n', bytes, 'version "1\\n" is unknown'],
    ['without bytes', version, null, 'it is not JSON'],
    ['of no bytes', version, Buffer.alloc(0), 'it is not JSON'],
    ['of bytes that are no text', version, Buffer.from([0x22, 0xff, 0x22]), 'it is not JSON'],
    ['that was cut off', version, bytes.subarray(0, 40), 'it is not JSON'],
    ['of other JSON', version, Buffer.from('[]'), '/ must be object'],
  ])('is refused with a reason: one %s', ([, found, value, fault]) => {
    expect(decode(found, value)).toStrictEqual({ fault })
  })

  test('is not written either', () => {
    // A defect of ours that the compiler does not see.
    const mistake = { ...aRecord(), units: -1 }
    expect(() => encode(mistake)).toThrow('/units must be >= 0')
  })
})
