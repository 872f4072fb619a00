import type { Warning } from '@platen/contract/domain/warning.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { aDisc, anAsset, aPhoto } from '../../fixture/asset.ts'
import { aReactPdfEngine, aWork } from './react-pdf-fixture.ts'

const engine = aReactPdfEngine()

/** Past it a render hangs: most of these take a fraction of a second. */
const DEADLINE_MS = 60_000

const assets = [anAsset('photo.jpg', aPhoto()), anAsset('disc.png', aDisc({ bits: 8, transparency: [0, 255] }))]

async function warningsOf(document: string, data: JsonObject = {}): Promise<readonly Warning[]> {
  return (await engine.render(aWork({ document, data, assets }), AbortSignal.timeout(DEADLINE_MS))).warnings
}

/** A page of A4, whose content begins in line 4 of the template. */
function aPage(content: string, props = 'style={{ padding: 30, fontSize: 12 }}'): string {
  return `<Page ${props}>\n${content}\n</Page>`
}

const LONG = 'max.mustermann@donaudampfschifffahrtsgesellschaft.example'
const WORDS = 'many words of a text '

describe('text outside of its box', () => {
  test.for<readonly [string, string, Warning['place'], RegExp]>([
    [
      'in a column that is too narrow',
      '<View style={{ flexDirection: "row" }}>\n<Text style={{ width: 60, fontSize: 40, overflowWrap: "normal" }}>WWW</Text><Text>b</Text></View>',
      'template.tsx:5:1',
      /^"W+" is \d+ pt outside its box on page 1$/,
    ],
    [
      'outside of the page',
      `<Text style={{ position: 'absolute', left: 500, width: 300 }}>${WORDS}</Text>`,
      'template.tsx:4:1',
      /^"many words of a text" is \d+ pt outside the page on page 1$/,
    ],
    [
      'below the page',
      "<View>\n<Text style={{ position: 'absolute', top: 825 }}>low</Text></View>",
      'template.tsx:5:1',
      /^"low" is \d+ pt outside the page on page 1$/,
    ],
    [
      'outside of a visible box around it',
      `<View style={{ width: 60, border: '1 solid red' }}>\n<Text style={{ width: 200 }}>${WORDS}</Text></View>`,
      'template.tsx:5:1',
      /^"many words of a text" is \d+ pt outside the box around it on page 1$/,
    ],
    [
      'that a row of a fixed height presses together',
      `<View style={{ height: 20 }}><View>\n<Text style={{ flex: 1 }}>${WORDS.repeat(20)}</Text></View></View><Text>b</Text>`,
      'template.tsx:5:1',
      /^"many words of a text many word…" is \d+ pt outside its box on page 1$/,
    ],
    [
      'that is cut off, and gets an ellipsis nobody asked for',
      `<View style={{ height: 20 }}><Text>${WORDS.repeat(20)}</Text></View>`,
      'template.tsx:4:30',
      /^the end of "many words of a text many word…" on page 1 is cut off, because its box is too low$/,
    ],
    [
      'that is lost as a whole',
      '<View style={{ height: 8 }}><Text>lost</Text></View>',
      'template.tsx:4:29',
      /^the end of "lost" on page 1 is cut off, because its box is too low$/,
    ],
  ])('%s', async ([, content, place, message]) => {
    expect(await warningsOf(aPage(content))).toEqual([
      { code: 'text_overflow', place, message: expect.stringMatching(message) },
    ])
  })

  test.for([
    ['within its box', `<Text>${WORDS.repeat(100)}</Text>`],
    ['that ends in blanks', `<Text style={{ width: 104 }}>{'many words    '}</Text>`],
    ['that is justified, indented and spaced', spaced('justify')],
    ['that is centred', spaced('center')],
    ['that is set to the right', spaced('right')],
    [
      'that its author cut off',
      `<Text style={{ width: 100, maxLines: 1, textOverflow: 'ellipsis' }}>${WORDS.repeat(9)}</Text>`,
    ],
    ['that ends with an ellipsis of its own', '<View style={{ height: 60 }}><Text>and so on…</Text></View>'],
    [
      'that a box clips',
      `<View style={{ width: 50, overflow: 'hidden' }}><Text style={{ width: 200 }}>${WORDS}</Text></View>`,
    ],
    ['out of sight', `<Text style={{ position: 'absolute', left: -2000, width: 300 }}>${WORDS}</Text>`],
    ['turned', `<Text style={{ transform: 'rotate(-45)', position: 'absolute', top: -20, width: 10 }}>${LONG}</Text>`],
    [
      'pale across the page',
      `<Text style={{ opacity: 0.1, fontSize: 200, position: 'absolute', left: -50 }}>DRAFT</Text>`,
    ],
    [
      'upon the border of a box',
      "<View style={{ border: '1 solid black', padding: 8 }}><Text style={{ position: 'absolute', top: -7 }}>Title</Text></View>",
    ],
    [
      'pulled out of its box',
      '<View style={{ border: "1 solid black" }}><Text style={{ marginLeft: -20 }}>Title</Text></View>',
    ],
    [
      'in a box of no height',
      '<View style={{ height: 0 }}><View style={{ position: "absolute", width: 99 }}><Text>over</Text></View></View>',
    ],
    ['with lines closer than its letters', `<Text style={{ lineHeight: 0.7, width: 90 }}>${WORDS}</Text>`],
    [
      'in a row that is as high as a line',
      '<View style={{ height: 15, border: "0.5 solid black" }}><Text>row</Text></View>',
    ],
    [
      'from right to left',
      "<View style={{ width: 90, border: '1 solid black' }}><Text style={{ direction: 'rtl' }}>שלום עולם, טקסט ארוך יותר</Text></View>",
    ],
    ['over many pages', `<Text>${WORDS.repeat(1500)}</Text>`],
    [
      'in columns over many pages',
      `<View style={{ flexDirection: 'row' }}><Text style={{ width: '50%' }}>${WORDS.repeat(500)}</Text><Text style={{ width: '50%' }}>${WORDS.repeat(400)}</Text></View>`,
    ],
  ] as const)('is not reported of text %s', async ([, content]) => {
    expect(await warningsOf(aPage(content))).toEqual([])
  })
})

function lettersOf(props: string): string {
  return `<Svg width={90} height={30}>\n<Text x={1} ${props} y={20}>letters</Text></Svg>`
}

function spaced(textAlign: string): string {
  const style = `{ textAlign: '${textAlign}', textIndent: 20, letterSpacing: 3, width: 120, border: '1 solid red' }`
  return `<Text style={${style}}>${WORDS.repeat(5)}</Text>`
}

describe('something over text', () => {
  const under = '<Text>Subtotal 12.00</Text>'
  test.for([
    ['a text', `${under}<Text style={{ marginTop: -12 }}>Total 10.00</Text>`, '"Total 10.00"'],
    [
      'a placed text',
      `${under}<View style={{ position: 'absolute', top: 32, left: 50 }}><Text>Total</Text></View>`,
      '"Total"',
    ],
    [
      'a box with a background',
      `${under}<View style={{ position: 'absolute', top: 30, left: 40, width: 40, height: 15, backgroundColor: '#fff' }} />`,
      'a box with a background',
    ],
    [
      'an image',
      `${under}<Image src="asset:photo.jpg" style={{ width: 60, height: 20, marginTop: -14 }} />`,
      'an image',
    ],
  ])('is reported of %s', async ([, content, covering]) => {
    const [warning, ...others] = await warningsOf(aPage(content ?? ''))
    expect(warning).toMatchObject({ code: 'text_overlap', message: expect.stringContaining('"Subtotal 12.00"') })
    expect(warning?.message.startsWith(`${covering} is drawn over "`)).toBe(true)
    expect(others).toEqual([])
  })

  test('is reported of text after one of a higher index, which react-pdf draws first, and so is the index', async () => {
    const warnings = await warningsOf(
      aPage(`<Text style={{ zIndex: 2, marginBottom: -14 }}>Total 10.00</Text>${under}`),
    )
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'style_ignored', place: 'template.tsx:4:7' }),
      {
        code: 'text_overlap',
        place: expect.stringMatching(/^template\.tsx:4:/),
        message: '"Subtotal 12.00" is drawn over "Total 10.00" on page 1',
      },
    ])
  })

  test.for([
    [
      'a pale word across the page',
      `<Text style={{ position: 'absolute', top: 30, opacity: 0.2 }}>DRAFT</Text>${under}`,
    ],
    [
      'a pale word by its colour',
      `${under}<Text style={{ position: 'absolute', top: 30, color: '#00000033' }}>DRAFT</Text>`,
    ],
    [
      'a pale word by a function',
      `${under}<Text style={{ position: 'absolute', top: 30, color: 'rgba(0, 0, 0, 0.2)' }}>DRAFT</Text>`,
    ],
    [
      'a turned word',
      `${under}<Text style={{ position: 'absolute', top: 30, transform: 'rotate(-5deg)' }}>DRAFT</Text>`,
    ],
    [
      'a large letter behind',
      `<Text style={{ position: 'absolute', top: 10, fontSize: 60, color: '#eee' }}>A</Text>${under}`,
    ],
    [
      'the shadow of a text',
      `${under}<Text style={{ position: 'absolute', top: 31, left: 31, color: 'grey' }}>Subtotal 12.00</Text>`,
    ],
    [
      'a badge on an image',
      '<Image src="asset:photo.jpg" style={{ width: 90, height: 60 }} /><Text style={{ position: "absolute", top: 40, left: 40 }}>NEW</Text>',
    ],
    [
      'a stamp with transparent pixels',
      `${under}<Image src="asset:disc.png" style={{ position: 'absolute', top: 20, left: 30, width: 60 }} />`,
    ],
    [
      'text in coloured boxes',
      "<View style={{ backgroundColor: 'gold', padding: 4 }}><View style={{ backgroundColor: '#fff' }}><Text>in</Text></View></View>",
    ],
    [
      'striped rows with borders',
      Array.from(
        { length: 9 },
        (_, at) =>
          `<View style={{ flexDirection: 'row', borderBottom: '1 solid black', backgroundColor: '${at % 2 ? '#eee' : '#fff'}' }}><Text style={{ width: 50, borderRight: '1 solid black' }}>gjpq</Text><Text>Ágy</Text></View>`,
      ).join(''),
    ],
    ['lines that touch by negative margins', `<Text>gjpqy</Text><Text style={{ marginTop: -5 }}>ÁÖÜH</Text>`],
    [
      'text on a line to fill in',
      "<Text>Name: ____________</Text><Text style={{ position: 'absolute', top: 30, left: 90 }}>Ada</Text>",
    ],
    ['a cross in a box', "<Text>☐ agreed</Text><Text style={{ position: 'absolute', top: 30, left: 31 }}>X</Text>"],
    [
      'a fixed head',
      `<View fixed style={{ height: 20, backgroundColor: '#eee' }}><Text>Head</Text></View><Rows count={120} /><View fixed style={{ backgroundColor: '#eee' }}><Text>Foot</Text></View>`,
    ],
    [
      'a transparent box',
      `${under}<View style={{ position: 'absolute', top: 30, left: 30, width: 40, height: 15, backgroundColor: '#ff000040' }} />`,
    ],
    [
      'an edge of a box',
      `${under}<View style={{ position: 'absolute', top: 43, left: 30, width: 40, height: 15, backgroundColor: 'red' }} />`,
    ],
    [
      'a box that is clipped away',
      `${under}<View style={{ position: 'absolute', top: 60, left: 30, width: 40, height: 15, overflow: 'hidden' }}><View style={{ position: 'absolute', top: -30, width: 40, height: 20, backgroundColor: 'red' }} /></View>`,
    ],
    [
      'text within a text',
      '<Text>one <Text style={{ backgroundColor: "yellow" }}>two</Text> three<Text style={{ fontSize: 6, verticalAlign: "super" }}>4</Text></Text>',
    ],
  ] as const)('is not reported of %s', async ([, content]) => {
    expect(await warningsOf(aPage(content))).toEqual([])
  })
})

describe('a block that must not break', () => {
  const lines = (count: number) => `{Array.from({ length: ${count} }, (_, at) => <Text key={at}>line {at}</Text>)}`

  test.for([
    ['text', lines(80)],
    [
      'rows',
      '{Array.from({ length: 80 }, (_, at) => <View key={at} style={{ flexDirection: "row", height: 16 }}><Text>row {at}</Text></View>)}',
    ],
  ])('and is higher than a page is reported once: %s', async ([, content]) => {
    const document = aPage(`<Text>before</Text>\n<View wrap={false}>${content}</View>\n<Text>after</Text>`)
    expect(await warningsOf(document)).toEqual([
      {
        code: 'block_squashed',
        place: 'template.tsx:5:1',
        message: expect.stringMatching(
          /^a block that must not break is higher than page 1, so it was pressed together, for example "[a-z]+ 0"$/,
        ),
      },
    ])
  })

  test.for([
    ['has room', `<View wrap={false}>${lines(40)}</View>`],
    ['breaks', `<View>${lines(80)}</View>`],
    [
      'is high by its style and has room for its text',
      `<View wrap={false} style={{ height: 1000 }}>${lines(9)}</View>`,
    ],
  ])('is not reported if it %s', async ([, content]) => {
    expect(await warningsOf(aPage(content ?? ''))).toEqual([])
  })
})

describe('a value that was not there', () => {
  test.for([
    ['a sum', '<Text>Total {data.a * 2} EUR</Text>', 'NaN is printed on page 1'],
    [
      'an amount',
      "<Text>{new Intl.NumberFormat('en-US', { style: 'currency', currency: 'EUR' }).format(data.a)}</Text>",
      'NaN is printed in "€NaN" on page 1',
    ],
    ['a salutation', '<Text>{`Dear ${data.name}`},</Text>', 'undefined is printed in "Dear undefined" on page 1'],
    [
      'an object',
      '<Text>{`to ${data.address}`}</Text>',
      '[object Object] is printed in "to [object Object]" on page 1',
    ],
    ['a rate', '<Text>{`${1 / 0} per cent`}</Text>', 'Infinity is printed in "Infinity per cent" on page 1'],
    ['a formatted rate', '<Text>{(1 / 0).toLocaleString()}</Text>', '∞ is printed on page 1'],
    ['a date', '<Text>{String(new Date(data.a))}</Text>', 'Invalid Date is printed on page 1'],
    [
      'a drawing',
      '<Svg width={90} height={30}><Text x={1} y={20}>{`${data.a}`}</Text></Svg>',
      'undefined is printed on page 1',
    ],
    [
      'a render function',
      '<Text render={({ pageNumber, totalPages }) => `${pageNumber} of ${totalPages}, ${data.a}`} />',
      'undefined is printed in "1 of 1, undefined" on page 1',
    ],
  ])('is reported where it is printed: %s', async ([, content, message]) => {
    expect(await warningsOf(aPage(content ?? ''), { address: { city: 'Hamburg' } })).toEqual([
      { code: 'variable_absent', place: 'template.tsx:4:1', message },
    ])
  })

  test.for([
    ['prose of the template', '<Text>The result\nis undefined if b is 0, and NaN in\nsome languages.</Text>'],
    ['prose of the data', '<Text>{data.prose}</Text>'],
    ['quoted prose of the data', '<Text>{data.quoted}</Text>'],
    ['prose in brackets', '<Text>It may be absent (undefined).</Text>'],
    ['a word of its own', '<Text>It is <Text>undefined</Text> here</Text>'],
    ['a part of a word', '<Text>{`NaNo${1}`} undefinedness</Text>'],
    [
      'page totals',
      '<Text render={({ pageNumber, totalPages }) => `${pageNumber} of ${totalPages}`} fixed /><Rows count={200} />',
    ],
  ])('is not reported of %s', async ([, content]) => {
    expect(
      await warningsOf(aPage(content ?? ''), { prose: 'what is undefined', quoted: 'the "x" undefined "y"' }),
    ).toEqual([])
  })
})

describe('warnings', () => {
  test('of one place are one, with their number', async () => {
    const document = aPage(
      '{Array.from({ length: 9 }, (_, at) =>\n<Text key={at} style={{ width: 9 }}>WWW</Text>)}',
      'size="A6"',
    )
    const warnings = await warningsOf(document)
    expect(warnings.map(({ place }) => place)).toEqual(['template.tsx:5:1'])
    expect(warnings[0]?.message).toMatch(/, and 8 more of this place$/)
  })

  test('of many places are few, and the last one says so', async () => {
    const document = aPage('<Text style={{ width: 5, fontSize: 20 }}>WW</Text>\n'.repeat(30))
    const warnings = await warningsOf(document)
    expect(warnings.map(({ place }) => place)).toEqual(
      Array.from({ length: 20 }, (_, at) => `template.tsx:${at + 4}:1`),
    )
    expect(warnings.map(({ message }) => message.endsWith('; further places are not listed'))).toEqual(
      Array.from({ length: 20 }, (_, at) => at === 19),
    )
  })

  test('quote a text briefly and without controls', async () => {
    const document = aPage('<View style={{ height: 20 }}><Text>{data.text}</Text></View>')
    const [warning] = await warningsOf(document, { text: `\u202ea\u0007 ${'word '.repeat(1000)}` })
    expect(warning?.message).toMatch(/^the end of "a word word word word word wor…" on page 1 is cut off/)
  })

  test('of thousands of texts at one place come in time', async () => {
    const text = '<Text key={at} style={{ position: "absolute", top: 9 }}>text {at}</Text>'
    const warnings = await warningsOf(aPage(`{Array.from({ length: 20000 }, (_, at) =>\n${text})}`))
    expect(warnings.map(({ code, place }) => [code, place])).toEqual([['text_overlap', 'template.tsx:5:1']])
  })
})

describe('a style whose value has no effect', () => {
  test('is named once for each place, however often it is drawn, and the document is printed', async () => {
    const rows = '{[1, 2, 3].map((row) => <View key={row} style={{ flexDirection: data.way }}><Text>a</Text></View>)}'
    expect(await warningsOf(aPage(`${rows}\n<Text style={{ color: 'redd' }}>b</Text>`), { way: 'rows' })).toEqual([
      {
        code: 'style_ignored',
        place: 'template.tsx:4:41',
        message: expect.stringMatching(
          /^<View style>: the style flexDirection must be one of row, .* \(did you mean row\?\)$/,
        ),
      },
      {
        code: 'style_ignored',
        place: 'template.tsx:5:7',
        message: expect.stringMatching(
          /^<Text style>: the style color must be a color such as .* \(did you mean red\?\)$/,
        ),
      },
    ])
  })

  test.for<readonly [string, string, string, RegExp]>([
    [
      'letters of a drawing in capitals',
      lettersOf('style={{ textTransform: "uppercase" }}'),
      '5:13',
      /textTransform has no effect on <Text> in <Svg>$/,
    ],
    ['spaced letters of a drawing', lettersOf('style={{ letterSpacing: 6 }}'), '5:13', /letterSpacing has no effect/],
    [
      'underlined letters of a drawing',
      lettersOf('style={{ textDecoration: "underline" }}'),
      '5:13',
      /textDecoration has no effect/,
    ],
    ['outlined letters of a drawing', lettersOf('stroke="black"'), '5:13', /^<Text stroke>: has no effect on letters$/],
    [
      'letters of a drawing without a filling',
      lettersOf('fill="none"'),
      '5:13',
      /^<Text fill>: has no effect: react-pdf draws letters filled$/,
    ],
    [
      'a hidden part of a drawing',
      '<Svg width={90} height={30}>\n<Rect width={9} height={9} fill="red" visibility="hidden" /></Svg>',
      '5:39',
      /^<Rect visibility>: has no effect: leave the element out$/,
    ],
    [
      'a font size of a drawing',
      '<Svg width={90} height={30} style={{ fontSize: 9 }} />',
      '4:29',
      /fontSize has no effect on <Svg>$/,
    ],
    [
      'a border of a width',
      '<View style={{ border: 1, borderColor: "red" }} />',
      '4:7',
      /border draws no line: it must be a width, a style and a color such as 1 solid black$/,
    ],
    ['a border of a side', '<View style={{ borderBottom: 1 }} />', '4:7', /borderBottom draws no line/],
    ['a border at the start', '<View style={{ borderStart: "1pt" }} />', '4:7', /borderStart draws no line/],
    ['a border without a color', '<View style={{ borderTop: "1pt solid" }} />', '4:7', /borderTop draws no line/],
    [
      'a border of a width that begins with a point',
      '<View style={{ border: ".5 solid red" }} />',
      '4:7',
      /border draws no line/,
    ],
    [
      'a double border',
      '<View style={{ border: "3pt double black" }} />',
      '4:7',
      /border draws a solid line: its style must be one of solid, dashed, dotted$/,
    ],
    [
      'a border of a misspelt color',
      '<View style={{ border: "3pt solid redd" }} />',
      '4:7',
      /border draws a black line: its color must be a color .*did you mean red/,
    ],
    [
      'a side without its border',
      '<View style={{ border: "1 solid red", borderTop: 0 }} />',
      '4:7',
      /borderTop has no effect: write borderTopWidth: 0$/,
    ],
    [
      'the arrangement of a text',
      '<Text style={{ justifyContent: "center" }}>a</Text>',
      '4:7',
      /justifyContent has no effect on <Text>$/,
    ],
    ['a gap in a text', '<Text style={{ gap: 4 }}>a</Text>', '4:7', /gap has no effect on <Text>$/],
    [
      'a box of a part of a text',
      '<Text>a <Text style={{ padding: 4 }}>b</Text></Text>',
      '4:15',
      /padding has no effect on <Text> in <Text>$/,
    ],
    [
      'lines of a box',
      '<View style={{ maxLines: 1 }}><Text>a</Text></View>',
      '4:7',
      /maxLines has no effect on <View>: write it on its <Text>$/,
    ],
    [
      'text of an image',
      '<Image src="asset:photo.jpg" style={{ width: 9, fontSize: 9 }} />',
      '4:30',
      /fontSize has no effect on <Image>$/,
    ],
    ['the fit of a box', '<View style={{ objectFit: "cover" }} />', '4:7', /objectFit has no effect on <View>$/],
    [
      'text of a field',
      '<TextInput name="a" style={{ color: "red" }} />',
      '4:21',
      /color has no effect on <TextInput>$/,
    ],
    [
      'the image of a background',
      '<ImageBackground src="asset:photo.jpg" imageStyle={{ opacity: 0.5 }} />',
      '4:40',
      /opacity has no effect on the image of <ImageBackground>$/,
    ],
    ['spaced words', '<Text style={{ wordSpacing: 4 }}>a b</Text>', '4:7', /wordSpacing has no effect on <Text>$/],
    [
      'a hidden text',
      '<Text style={{ visibility: "hidden" }}>a</Text>',
      '4:7',
      /visibility has no effect on <Text>: leave the element out$/,
    ],
    [
      'a line above a text',
      '<Text style={{ textDecoration: "overline" }}>a</Text>',
      '4:7',
      /textDecoration must be one of none, underline, /,
    ],
    [
      'a ratio of two numbers',
      '<View style={{ aspectRatio: "16/9" }} />',
      '4:7',
      /aspectRatio must be a number such as 1.5$/,
    ],
    [
      'a move by a part',
      '<View style={{ transform: "translate(-50%, 0)" }} />',
      '4:7',
      /transform has % in translate, which is read as points: write a number$/,
    ],
    [
      'a turn in space',
      '<View style={{ transform: "rotateX(3deg)" }} />',
      '4:7',
      /transform has rotateX, which has no effect \(did you mean rotate\?\)$/,
    ],
    [
      'a style for wide pages',
      '<Text style={{ "@media min-width: 10": { gap: 4 } }}>a</Text>',
      '4:7',
      /gap has no effect on <Text>$/,
    ],
    [
      'a place in the stack without siblings',
      '<View><View style={{ zIndex: 3 }} /></View>',
      '4:13',
      /zIndex has no effect, because the element has no siblings$/,
    ],
    [
      'a place in the stack',
      '<View style={{ zIndex: 3, height: 20, marginBottom: -9, backgroundColor: "red" }} /><View style={{ height: 20, backgroundColor: "blue" }} />',
      '4:7',
      /zIndex puts nothing above: /,
    ],
  ])('is reported of %s', async ([, content, place, message]) => {
    expect(await warningsOf(aPage(content))).toEqual([
      { code: 'style_ignored', place: `template.tsx:${place}`, message: expect.stringMatching(message) },
    ])
  })

  test.for([
    [
      'texts inherit from a box',
      '<View style={{ fontSize: 9, color: "red", textAlign: "right", letterSpacing: 1 }}><Text>a</Text></View>',
    ],
    ['asks for nothing', '<Text style={{ gap: 0, visibility: "visible", wordSpacing: "normal" }}>a</Text>'],
    ['has no line', '<View style={{ border: 0, borderTop: "none", borderRadius: 4 }} />'],
    ['has no line on a side', '<View style={{ borderBottom: 0, padding: 2 }} />'],
    ['stacks what does not overlap', '<View style={{ zIndex: 3, height: 9 }} /><View style={{ height: 9 }} />'],
    [
      'puts a box below',
      '<View style={{ zIndex: -1, height: 20, marginBottom: -9 }} /><View style={{ height: 20 }} />',
    ],
    ['moves by points', '<View style={{ transform: "translate(10, 5pt) rotate(0.3rad) scale(1.5)" }} />'],
    [
      'belongs to a chart',
      '<Svg viewBox="0 0 9 9" width={9} height={9}><G style={{ stroke: "red", strokeWidth: 1 }}><Line x1={0} y1={0} x2={9} y2={9} /></G><Text x={1} y={8} fill="red" textAnchor="end" style={{ fontSize: 3 }}>a</Text></Svg>',
    ],
  ] as const)('is not reported if it %s', async ([, content]) => {
    expect(await warningsOf(aPage(content))).toEqual([])
  })

  test('does not keep what is hidden, nor the room of it', async () => {
    const hidden =
      '<View style={{ display: "none" }}><Text style={{ width: 1 }}>never seen</Text></View><Svg style={[{ display: "none" }]} />'
    const bare = '<Text>a</Text>'
    const work = (content: string) => aWork({ document: aPage(content) })
    const [one, other] = await Promise.all(
      [`${hidden}${bare}`, bare].map((content) => engine.render(work(content), AbortSignal.timeout(DEADLINE_MS))),
    )
    expect(one?.warnings).toEqual([])
    expect(Buffer.from(one?.pdf ?? [])).toEqual(Buffer.from(other?.pdf ?? []))
  })

  test('does not keep a set of fields without a field from ending', async () => {
    expect(await warningsOf(aPage('<FieldSet name="f"><Text>a</Text></FieldSet>'))).toEqual([])
  })
})

describe('a blank page', () => {
  const part = '<View break><Text>part</Text></View>'

  test.for([
    ['at the start', aPage(`${part}${part}`, 'size="A6"'), 'template.tsx:4:1'],
    [
      'with numbers',
      aPage(`<Text fixed style={{ position: 'absolute', bottom: 9 }}>1</Text>\n${part}`, 'size="A6"'),
      'template.tsx:5:1',
    ],
    ['of labels', aPage(part, 'size="A6" style={{ flexDirection: "row", flexWrap: "wrap" }}'), 'template.tsx:4:1'],
  ] as const)('%s is warned of where its break is', async ([, document, place]) => {
    const message = 'page 1 is blank, because break is on the first element'
    expect(await warningsOf(document)).toEqual([{ code: 'page_blank', place, message }])
  })

  test('is none where a page has content before the break, or is meant to be blank', async () => {
    expect(await warningsOf(`<Page /><Page size="A6"><Text>a</Text>${part}</Page>`)).toEqual([])
  })
})
