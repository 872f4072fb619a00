import { expect, test } from 'vitest'
import { faceFor, withFallback } from './fonts.ts'

/** Parses `400 700i`: weights, with an i for italic. */
function faces(list: string): { weight: number; style: 'normal' | 'italic' }[] {
  return list
    .split(' ')
    .map((face) => ({ weight: Number.parseInt(face, 10), style: face.endsWith('i') ? 'italic' : 'normal' }))
}

test.for([
  ['400 700', '400', '400'],
  ['400 700', '700', '700'],
  ['400 700', '500', '400'],
  ['400 500 700', '450', '500'],
  ['300 600', '400', '300'],
  ['100 600', '450', '100'],
  ['600 900', '400', '600'],
  ['100 200 700', '300', '200'],
  ['400 700', '300', '400'],
  ['400 700', '600', '700'],
  ['400 500', '900', '500'],
  ['400 400i 700i', '700i', '700i'],
  ['400 700 400i', '700i', '400i'],
  // A family without italic faces is upright. A family with only italic faces is italic.
  ['400 700', '700i', '700'],
  ['700', '400i', '700'],
  ['400i', '400', '400i'],
] as const)('of %s takes for %s the face %s', ([list, asked, expected]) => {
  const [descriptor] = faces(asked)
  expect(descriptor && faceFor(faces(list), descriptor)).toEqual(faces(expected)[0])
})

test('has a family of the template hide a default one of its name', () => {
  const families = new Map([['Times-Roman', 'template 0']])
  expect(withFallback(['Times-Roman'], families)[0]).toBe('template 0')
  expect(withFallback(['Times-Roman'], new Map())).toEqual(['Tinos', 'DejaVu Sans', 'last resort'])
})
