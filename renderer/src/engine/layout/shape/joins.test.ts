import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { defaultFaces } from '../../../template/asset/font/default-fonts.ts'
import { openFont } from '../../../template/asset/font/font-file.ts'
import { openJoins } from './joins.ts'

test('keeps a bounded number of neighbours, and leaves texts with others to the full rules', () => {
  const font = openFont(readFileSync(defaultFaces()[0]?.file ?? ''))
  const joins = openJoins(font.layout.bind(font))
  const letters = Array.from({ length: 110 }, (_, at) => String.fromCharCode(at < 90 ? 0x21 + at : 0xc0 + at))
  const isSet = (text: string) => joins.shape(text, () => false) !== undefined
  const pairs = letters.flatMap((one) => letters.map((other) => one + other))
  pairs.forEach(isSet)
  const found = pairs.filter(isSet).length
  expect(found).toBeGreaterThan(9000)
  expect(found).toBeLessThanOrEqual(10_000)
})
