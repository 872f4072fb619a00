/** Text that is made to confuse the choice of fonts, in react_pdf: a document each time, the same each time, and nothing left behind. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openReactPdfEngine } from '@platen/renderer/engine/react-pdf.ts'
import { spawnThreadFor } from '@platen/renderer/engine/thread/start.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import { defaultFaces } from '@platen/renderer/template/asset/font/default-fonts.ts'
import { withMemory } from '@platen/renderer/template/asset/font/shared-font.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { aFontOf, anAsset } from '../../fixture/asset.ts'
import { NEVER } from '../../fixture/build.ts'
import { fontsOf, inspect } from '../html/html-fixture.ts'
import { aWork, type WorkFields } from '../react-pdf/react-pdf-fixture.ts'

/** Which files the threads have read: their memory is shared with this thread. */
const faces = withMemory(defaultFaces())
const pool = openThreadPool({ size: 2, clock: systemClock(), spawn: spawnThreadFor(['react_pdf'], faces) })
const engine = openReactPdfEngine({ pool, slots: 2 })
afterAll(() => pool[Symbol.asyncDispose]())

function work(text: string, fields: WorkFields = {}) {
  return aWork({ document: '<Page><Text>{data.text}</Text></Page>', data: { text }, ...fields })
}

function readFamilies(): ReadonlySet<string> {
  return new Set(
    faces
      .filter(({ memory }) => new Uint8Array(memory ?? new SharedArrayBuffer(0)).at(-1) === 1)
      .map(({ family }) => family),
  )
}

test('Latin, Greek and Cyrillic text reads no font but its own', async () => {
  await engine.render(work('Zażółć Ελληνικά Привет €✓'), NEVER)
  await engine.render(
    work('Zażółć', { document: `<Page><Text style={{ fontFamily: 'Helvetica' }}>{data.text}</Text></Page>` }),
    NEVER,
  )
  expect(readFamilies()).toEqual(new Set(['DejaVu Sans', 'Arimo']))
  // Nobody has these, so no font is asked.
  await engine.render(work('\ue123\u{50000}\u{10fffd}\u0378'), NEVER)
  expect(readFamilies()).toEqual(new Set(['DejaVu Sans', 'Arimo']))
  await engine.render(work('ไทย'), NEVER)
  expect(readFamilies()).toEqual(new Set(['DejaVu Sans', 'Arimo', 'Noto Sans Thai']))
})

describe('the PDF is the same again, in another thread and after other documents:', () => {
  test.for([
    ['variation selectors', '❤\ufe0f❤\ufe0e\ufe0f\ufe0e漢\u{e0100}葛\u{e0101}a\ufe0f'],
    ['flags and halves of them', '🇩🇪🇩🇪🇩🇩🇪🇪🇩x🇩'],
    ['families and their parts', '👨‍👩‍👧‍👦👨‍👩\u200d\u200d👧\u200d👩🏽‍🚀🏽🏽'],
    ['keys and their parts', '1\ufe0f\u20e3#\ufe0f\u20e32\u20e3\u20e3*\ufe0f'],
    ['tags', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0067}x\u{e007f}'],
    ['unassigned and private code points', '\ue000\u{10ffff}\u{e1000}\u0378\uffff漢'],
    ['halves of surrogate pairs', '\ud83da\ude00\ud83d\ud83d\ude00\udc00'],
    ['marks without letters', '\u0301\u093f\u0e31\u20e3\u0600\u200d'],
    ['10,000 marks on one letter', `a${'\u0301'.repeat(5000)}${'\u0489'.repeat(5000)}`],
    ['10,000 marks that no letter has', `ก${'\u093f'.repeat(10_000)}`],
    ['scripts in turns', 'aไकব漢가😀∑'.repeat(200)],
    ['marks of other scripts', 'क\u0e31ก\u093f漢\u0301\u3099か\u3099가\u0323'],
  ] as const)('%s', async ([, text]) => {
    const [first, beside] = await Promise.all([engine.render(work(text), NEVER), engine.render(work(text), NEVER)])
    await engine.render(work(Array.from(text).toReversed().join('')), NEVER)
    const last = await engine.render(work(text), NEVER)
    expect(Buffer.from(first.pdf).equals(beside.pdf)).toBe(true)
    expect(Buffer.from(first.pdf).equals(last.pdf)).toBe(true)
    inspect(first.pdf, 'qpdf', '--check')
  })
})

test('a font of the template draws what it has, emoji too, and others draw the rest', async () => {
  const { pdf, warnings } = await engine.render(
    work('漢字😀🎉', {
      document: `<Page><Text style={{ fontFamily: 'Own' }}>{data.text}</Text></Page>`,
      assets: [anAsset('own.ttf', aFontOf('漢😀'))],
      template: { fonts: [{ family: 'Own', weight: 400, style: 'normal', asset: 'own.ttf' }] },
    }),
    NEVER,
  )
  expect(warnings).toEqual([])
  expect(fontsOf(pdf)).toEqual([expect.stringMatching(/^DejaVuSansMono-/), 'NotoEmoji-Regular', 'NotoSansSC-Regular'])
})

test('a font that claims a character and has no glyph for it leaves that to others', async () => {
  const own = aFontOf('漢')
  const fields = (bytes: Uint8Array): WorkFields => ({
    document: `<Page><Text style={{ fontFamily: 'Own' }}>{data.text}</Text></Page>`,
    assets: [anAsset('own.ttf', bytes)],
    template: { fonts: [{ family: 'Own', weight: 400, style: 'normal', asset: 'own.ttf' }] },
  })
  const lying = Buffer.from(own)
  // The last group of the character table: its glyph becomes one that the font does not have.
  const at = lying.indexOf(Buffer.from([0, 0, 0x6f, 0x22, 0, 0, 0x6f, 0x22]))
  expect(at).toBeGreaterThan(0)
  lying.writeUInt32BE(0xfff0, at + 8)
  expect(fontsOf((await engine.render(work('漢', fields(own)), NEVER)).pdf)).not.toContain('NotoSansSC-Regular')
  const { pdf, warnings } = await engine.render(work('漢', fields(lying)), NEVER)
  expect(warnings).toEqual([])
  expect(fontsOf(pdf)).toContain('NotoSansSC-Regular')
})
