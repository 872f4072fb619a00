/** JSON values of every kind, with the names and texts that have broken something somewhere. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { SECRET } from '../target.ts'

/** One of the words of a text. */
export const words = (text: string) => fc.constantFrom(...text.split(' '))

/** Few, so that schemas, sources and data meet at them. */
export const name = fc.constantFrom(
  'a',
  'b',
  'c',
  'd',
  'rows',
  'constructor',
  'toString',
  'length',
  '$ref',
  '',
  'a/b~c',
  'é',
)

export const text = fc.oneof(
  fc.constantFrom(
    '',
    SECRET,
    ` ${SECRET}\n`,
    '2026-02-30',
    '1e999',
    '\u0000',
    '\ud83d',
    '😀',
    '‮',
    '\u00ad',
    '{{ a }}',
    '</script>',
    '../x',
    '__proto__',
    'a'.repeat(300),
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map((noise) => SECRET + noise),
)

export const number = fc.oneof(
  fc.constantFrom(0, -1, 1, 0.1, 1e-320, 1e308, -1e308, 2 ** 31, 2 ** 53, 1e21),
  fc.integer({ min: -20, max: 500 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

export const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json; list: Json[]; object: JsonObject }>((tie) => ({
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(name, tie('value'), { maxKeys: 5 }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
})).value

export const object: fc.Arbitrary<JsonObject> = fc.dictionary(name, json, { maxKeys: 6 })
