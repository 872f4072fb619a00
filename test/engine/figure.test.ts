/** Codes and charts of both engines, read back from the printed page by a scanner of another make. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepareZXingModule, type ReadInputBarcodeFormat, readBarcodes } from 'zxing-wasm/reader'
import { imagesOf, pictureOf, wordsOf as placedWordsOf } from '../topology/oracle.ts'
import { anEngine, aWork as htmlWork } from './html/html-fixture.ts'
import { aReactPdfEngine, aWork as reactPdfWork } from './react-pdf/react-pdf-fixture.ts'

const reactPdf = aReactPdfEngine()
const html = await anEngine()

beforeAll(() => {
  const file = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm')
  prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(readFileSync(file)).buffer } })
})
afterAll(() => html[Symbol.asyncDispose]())

/** Past it a render hangs: all of these take a fraction of a second. */
const DEADLINE_MS = 60_000
const deadline = () => AbortSignal.timeout(DEADLINE_MS)

interface Asked {
  readonly data?: Readonly<Record<string, never>> | object
  readonly locale?: string
}

/** A page of react_pdf with this element, which may use `data`. */
async function ofElement(element: string, { data = {}, locale }: Asked = {}): Promise<Uint8Array> {
  const source = `import { Document, Page, Text } from '@react-pdf/renderer'
import { QrCode, Barcode, PaymentCode, Chart } from '@platen/template'
export default ({ data }) => <Document><Page size={[500, 400]} style={{ padding: 20 }}>${element}</Page></Document>`
  const template = locale === undefined ? {} : { template: { locale } }
  return (await reactPdf.render(reactPdfWork({ source, data: { ...data }, ...template }), deadline())).pdf
}

/** A page of html with this tag, which may use the fields of the data. */
async function ofTag(tag: string, { data = {}, locale }: Asked = {}): Promise<Uint8Array> {
  const template = locale === undefined ? {} : { template: { locale } }
  const page = `<style>@page { size: 500pt 400pt; margin: 20pt } body { margin: 0 }</style><div>${tag}</div>`
  return html.render(htmlWork(page, { data: { ...data }, ...template }), deadline())
}

/** The words of the first page. */
async function wordsOf(pdf: Uint8Array): Promise<readonly string[]> {
  return (await placedWordsOf(pdf)).map(({ word }) => word)
}

/** What a scanner reads on the first page. */
async function scanned(pdf: Uint8Array, format: ReadInputBarcodeFormat): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'platen-scan-'))
  try {
    const file = join(folder, 'a.pdf')
    writeFileSync(file, pdf)
    execFileSync('pdftoppm', ['-r', '300', '-gray', '-png', '-l', '1', '-singlefile', file, join(folder, 'page')])
    const [found] = await readBarcodes(new Uint8Array(readFileSync(join(folder, 'page.png'))), {
      formats: [format],
      tryHarder: true,
    })
    return found?.text
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const CODES: readonly (readonly [format: ReadInputBarcodeFormat, element: string, tag: string, text: string])[] = [
  [
    'QRCode',
    '<QrCode value="https://example.com/i/1" />',
    '{% qrcode "https://example.com/i/1" %}',
    'https://example.com/i/1',
  ],
  [
    'QRCode',
    '<QrCode value="Grüße ^日本" level="H" width="40mm" />',
    '{% qrcode "Grüße ^日本", level: "H", width: "40mm" %}',
    'Grüße ^日本',
  ],
  [
    'EAN-13',
    '<Barcode type="ean13" value="4006381333931" />',
    '{% barcode "4006381333931", type: "ean13" %}',
    '4006381333931',
  ],
  [
    'EAN-13',
    '<Barcode type="ean13" value={400638133393} />',
    '{% barcode 400638133393, type: "ean13" %}',
    '4006381333931',
  ],
  ['EAN-8', '<Barcode type="ean8" value="96385074" />', '{% barcode "96385074", type: "ean8" %}', '96385074'],
  [
    'UPC-A',
    '<Barcode type="upca" value="036000291452" />',
    '{% barcode "036000291452", type: "upca" %}',
    // An EAN-13 that begins with 0: readers give either form.
    '0036000291452',
  ],
  [
    'Code128',
    '<Barcode type="code128" value="PLATEN-2026/11" height="15mm" />',
    '{% barcode "PLATEN-2026/11", type: "code128", height: "15mm" %}',
    'PLATEN-2026/11',
  ],
  [
    'Code128',
    '<Barcode type="gs1-128" value="(01)09521234543213(3103)000123" width="80mm" height="20mm" text={false} />',
    '{% barcode "(01)09521234543213(3103)000123", type: "gs1-128", width: "80mm", height: "20mm", text: false %}',
    '(01)09521234543213(3103)000123',
  ],
  [
    'ITF',
    '<Barcode type="itf14" value="04601234567893" />',
    '{% barcode "04601234567893", type: "itf14" %}',
    '04601234567893',
  ],
  [
    'DataMatrix',
    '<Barcode type="datamatrix" value="parcel 4711" width="20mm" />',
    '{% barcode "parcel 4711", type: "datamatrix", width: "20mm" %}',
    'parcel 4711',
  ],
  [
    'PDF417',
    '<Barcode type="pdf417" value="Boarding pass of a traveller" width="60mm" />',
    '{% barcode "Boarding pass of a traveller", type: "pdf417", width: "60mm" %}',
    'Boarding pass of a traveller',
  ],
]

describe('a code is vector, and a scanner reads it:', () => {
  test.for(CODES)('%s of %s', async ([format, element, tag, text]) => {
    for (const pdf of [await ofElement(element), await ofTag(tag)]) {
      expect(await scanned(pdf, format)).toBe(text)
      expect(await imagesOf(pdf)).toEqual([])
    }
  })

  test('has its colour, and the size that is asked for', async () => {
    const big = await ofElement('<QrCode value="1" width={300} color="#cc0000" quietZone={0} />')
    const picture = await pictureOf(big)
    const red = picture.reduce(
      (sum, _, at) => sum + (at % 3 === 0 && (picture[at] ?? 0) > 150 && (picture[at + 1] ?? 255) < 80 ? 1 : 0),
      0,
    )
    expect(red).toBeGreaterThan(1000)
  })
})

const EPC = {
  name: 'Wikimedia Fördergesellschaft',
  iban: 'DE33 1002 0500 0001 1947 00',
  bic: 'BFSWDE33BER',
  amount: 123.4,
  text: 'Invoice 2026-11',
}
const EPC_LINES = [
  'BCD',
  '002',
  '1',
  'SCT',
  'BFSWDE33BER',
  'Wikimedia Fördergesellschaft',
  'DE33100205000001194700',
  'EUR123.40',
  '',
  '',
  'Invoice 2026-11',
]
const ADDRESS = { street: 'Rue du Lac', houseNumber: '1268', postalCode: '2501', town: 'Biel', country: 'CH' }
const SWISS = {
  iban: 'CH44 3199 9123 0008 8901 2',
  creditor: { name: 'Robert Schneider AG', ...ADDRESS },
  amount: '1949.75',
  reference: '21 00000 00003 13947 14300 09017',
  message: 'Order of 15 June',
}
const SWISS_LINES = [
  'SPC',
  '0200',
  '1',
  'CH4431999123000889012',
  'S',
  'Robert Schneider AG',
  'Rue du Lac',
  '1268',
  '2501',
  'Biel',
  'CH',
  '',
  '',
  '',
  '',
  '',
  '',
  '',
  '1949.75',
  'CHF',
  '',
  '',
  '',
  '',
  '',
  '',
  '',
  'QRR',
  '210000000003139471430009017',
  'Order of 15 June',
  'EPD',
]

describe('a payment code', () => {
  test.for([
    ['epc', EPC, EPC_LINES],
    ['swiss', SWISS, SWISS_LINES],
  ] as const)('of %s has the lines that a bank reads, in both engines', async ([scheme, payment, lines]) => {
    const named = Object.keys(payment).map((name) => `${name}: payment.${name}`)
    const pdfs = [
      await ofElement(`<PaymentCode scheme="${scheme}" {...data.payment} width="46mm" />`, { data: { payment } }),
      await ofTag(`{% paymentcode scheme: "${scheme}", ${named.join(', ')} %}`, { data: { payment } }),
    ]
    for (const pdf of pdfs) expect(await scanned(pdf, 'QRCode')).toBe(lines.join('\n'))
  })

  test.for([
    [{ ...EPC, iban: 'DE34100205000001194700' }, 'epc', 'iban is not an IBAN: its check digits do not fit'],
    [{ ...EPC, name: 'two\nlines' }, 'epc', 'a value of the payment has a line break'],
    [{ ...EPC, amount: 0 }, 'epc', 'amount must be a number from 0.01'],
    [{ ...EPC, reference: 'RF18539007547034' }, 'epc', 'reference and text exclude each other'],
    [{ ...SWISS, reference: '210000000003139471430009018' }, 'swiss', 'reference must be a QR reference'],
    [{ ...SWISS, creditor: { name: 'Nobody' } }, 'swiss', 'creditor.country is missing or empty'],
    [{ ...SWISS, iban: EPC.iban }, 'swiss', 'iban must be one of Switzerland or Liechtenstein'],
  ] as const)('is refused if a bank would refuse it: %o', async ([payment, scheme, message]) => {
    const element = `<PaymentCode scheme="${scheme}" {...data.payment} />`
    await expect(ofElement(element, { data: { payment } })).rejects.toThrow(message)
  })
})

const MONTHS = ['Januar', 'Februar', 'März', 'April'].map((label, index) => ({
  label,
  value: 1000 * index - 500,
  cost: index === 2 ? null : 700,
}))

describe('a chart', () => {
  test.for(
    ['bar', 'line', 'pie'].flatMap((type) =>
      [
        ['no rows', []],
        [
          'zeros',
          [
            { label: 'Online', value: 0 },
            { label: 'Shop', value: 0 },
          ],
        ],
        ['nulls', [{ label: 'Online', value: null }, { label: null }]],
        ...(type === 'pie'
          ? []
          : [
              [
                'values below 0',
                [
                  { label: 'Online', value: -3 },
                  { label: 'Shop', value: -1 },
                ],
              ],
            ]),
      ].map(([what, rows]) => [type, what, rows] as const),
    ),
  )('%s of %s is empty, and the rest of the document is printed', async ([type, , rows]) => {
    const data = { rows }
    const pages = [
      await ofElement(`<><Chart type="${type}" data={data.rows} /><Text>the rest</Text></>`, { data }),
      await ofTag(`{% chart rows, type: "${type}" %} the rest`, { data }),
    ]
    for (const pdf of pages) expect((await wordsOf(pdf)).join(' ')).toContain('the rest')
  })

  test('of bars has its axis, names and legend as text, in the locale of the template', async () => {
    const asked = { data: { rows: MONTHS }, locale: 'de-DE' }
    const pdfs = [
      await ofElement(`<Chart type="bar" data={data.rows} y={['value', 'cost']} currency="EUR" />`, asked),
      await ofTag('{% chart rows, type: "bar", y: "value, cost", currency: "EUR" %}', asked),
    ]
    for (const pdf of pdfs) {
      const words = await wordsOf(pdf)
      for (const word of ['2.000', '-500', '€', 'Januar', 'März', 'cost']) expect(words).toContain(word)
      expect(await imagesOf(pdf)).toEqual([])
    }
  })

  test('of a line has a gap where the data have no value', async () => {
    const pdf = await ofElement('<Chart type="line" data={data.rows} y="cost" x="label" />', { data: { rows: MONTHS } })
    expect(await wordsOf(pdf)).toContain('700')
  })

  test('of a pie says the part of each piece', async () => {
    const rows = [1, 2, 5].map((value) => ({ label: `piece ${value}`, value }))
    for (const pdf of [
      await ofElement('<Chart type="pie" data={data.rows} />', { data: { rows } }),
      await ofTag('{% chart rows, type: "pie" %}', { data: { rows } }),
    ])
      expect((await wordsOf(pdf)).join(' ')).toContain('piece 5 62.5%')
  })

  test('equal input gives equal bytes', async () => {
    const draw = () =>
      ofElement('<Chart type="pie" data={data.rows} /> ', { data: { rows: [{ label: 'all', value: 1 }] } })
    expect(Buffer.compare(await draw(), await draw())).toBe(0)
  })
})

describe('what cannot be drawn fails, with its place and reason:', () => {
  test.for([
    [
      '<Barcode type="ean13" value="4006381333932" />',
      'template.tsx:3:88: <Barcode>: value does not fit: Incorrect EAN-13 check digit provided',
    ],
    [
      '<Barcode type="ean14" value="1" />',
      'type must be one of ean13, ean8, upca, code128, gs1-128, itf14, datamatrix, pdf417',
    ],
    ['<Barcode value="1" />', 'type is missing'],
    ['<Barcode type="code128" value="Ж" />', 'value has a character that Code 128 cannot hold'],
    ['<Barcode type="gs1-128" value="(01)123" />', 'value does not fit: AI 01: Too short'],
    ['<QrCode />', 'value is missing or empty'],
    ['<QrCode value={{}} />', 'value must be a text of at most 7089 characters'],
    ["<QrCode value={'x'.repeat(4000)} />", 'value does not fit: Maximum length exceeded'],
    ['<QrCode value="1" widht={10} />', '<QrCode widht>: there is no such prop (did you mean width?)'],
    ['<QrCode value="1" width="10px" />', 'width must be a length such as 30mm'],
    ['<QrCode value="1" color="url(#a)" />', 'color must be a colour'],
    ['<QrCode value="1">text</QrCode>', '<QrCode> takes no children'],
    ['<Chart type="bar" data={7} />', 'data must be a list of at most 1000 objects'],
    ['<Chart type="bar" data={Array(1001).fill({})} />', 'data must be a list of at most 1000 objects'],
    ["<Chart type=\"bar\" data={[{ label: 'a', value: 'many' }]} />", 'data[0].value must be a number'],
    ['<Chart type="pie" data={[{ label: \'a\', value: -1 }]} />', 'a pie cannot show values below 0'],
    ['<Chart type="bar" data={[]} width={10} height={10} />', 'width and height leave no room'],
  ] as const)('%s', async ([element, message]) => {
    await expect(ofElement(element)).rejects.toThrow(message)
  })

  test.for([
    ['{% barcode "1", typ: "ean13" %}', 'template.html:1:81: barcode has no typ (did you mean type?)'],
    ['{% barcode "4006381333932", type: "ean13" %}', 'value does not fit: Incorrect EAN-13 check digit provided'],
    ['{% qrcode absent %}', 'value is missing or empty'],
    ['{% chart absent, type: "bar" %}', 'data must be a list'],
  ] as const)('%s', async ([tag, message]) => {
    await expect(ofTag(tag)).rejects.toThrow(message)
  })
})

test('a text of the data is no markup in the SVG of a tag', async () => {
  const rows = [{ label: '<script>x</script>&"', value: 1 }]
  expect((await wordsOf(await ofTag('{% chart rows, type: "pie" %}', { data: { rows } }))).join(' ')).toContain(
    '&lt;script&gt;x&lt;/script&gt;&amp;',
  )
})
