import { expect, test } from 'vitest'
import { fromWire, toWire } from './spelling.ts'

test('names change their spelling at every depth, and back', () => {
  const ours = { renderId: 'a_b', list: [{ pdfSizeBytes: 1, isIt: null }, 'x_y'], margin: { top: 1 } }
  const theirs = { render_id: 'a_b', list: [{ pdf_size_bytes: 1, is_it: null }, 'x_y'], margin: { top: 1 } }
  expect(toWire(ours)).toEqual(theirs)
  expect(fromWire(toWire(ours))).toEqual(ours)
})

test.for(['data', 'metadata', 'sample', 'variablesSchema'])(
  'what callers and templates name in %s stays as it is',
  (field) => {
    const free = { vatId: { due_on: 1 }, vat_id: [{ dueOn: 2 }] }
    const sent = toWire({ [field]: free })
    expect(Object.values(sent)).toEqual([free])
    expect(fromWire(sent)).toEqual({ [field]: free })
  },
)

test.for([undefined, null, 0, '', 'a_b', [], {}])('%j is itself', (value) => {
  expect(toWire(value)).toEqual(value)
  expect(fromWire(value)).toEqual(value)
})

test('a name that objects inherit is a name like others', () => {
  const value: unknown = JSON.parse('{ "__proto__": { "isAdmin": true }, "constructor": 1 }')
  const sent = toWire(value)
  expect(JSON.stringify(sent)).toBe('{"__proto__":{"is_admin":true},"constructor":1}')
  expect(Reflect.get(Object(sent), 'is_admin')).toBeUndefined()
})
