import type { Json } from '@platen/lib/brand.ts'
import type { ReactElement } from 'react'
import { describe, expect, test } from 'vitest'
import { childrenOf, document, node, type Props, pageOf, translated, translation } from '../../../test/fixture/tree.ts'
import { translate } from './elements.ts'
import { ELEMENT_DEPTH_MAX, ELEMENTS_MAX } from './limit.ts'
import { transpile } from './tsx/transpile.ts'

describe('a tree', () => {
  test.for([
    ['an unknown element', document(node('Canvas')), 'template.tsx:3: <Canvas> is not an element here'],
    [
      'an element by a near name',
      document(node('Txt')),
      'template.tsx:3: <Txt> is not an element here (did you mean Text?)',
    ],
    ['an inherited name', document(node('constructor')), 'template.tsx:3: <constructor> is not an element here'],
    [
      'an unknown prop',
      document(node('View', { fixd: true })),
      'template.tsx:3: <View fixd>: there is no such prop (did you mean fixed?)',
    ],
    [
      'an inherited prop',
      document(node('View', { toString: 'x' })),
      'template.tsx:3: <View toString>: there is no such prop',
    ],
    [
      'its own prototype',
      document(node('View', JSON.parse('{"__proto__": {"x": 1}}'))),
      'template.tsx:3: <View __proto__>: there is no such prop',
    ],
    [
      'an unknown style',
      document(node('View', { style: { colour: 'red' } })),
      'template.tsx:3: <View style>: there is no style colour (did you mean color?)',
    ],
    [
      'an inherited style',
      document(node('View', { style: { hasOwnProperty: 1 } })),
      'template.tsx:3: <View style>: there is no style hasOwnProperty',
    ],
    [
      'a style that is an object',
      document(node('View', { style: { width: { a: 1 } } })),
      'template.tsx:3: <View style>: the style width must be a number, a length such as 5mm, a percentage or auto',
    ],
    [
      'a style beyond what readers of PDFs count to',
      document(node('View', { style: { marginLeft: -1e10 } })),
      'template.tsx:3: <View style>: the style marginLeft must not go beyond 1000000000',
    ],
    [
      'the same as a text',
      document(node('View', { style: { width: '10000000000%' } })),
      'template.tsx:3: <View style>: the style width must not go beyond 1000000000',
    ],
    [
      'a number beyond that',
      document(node('View', { bookmark: { title: 'a', top: 1e20 } })),
      'template.tsx:3: <View bookmark>: top must not go beyond 1000000000',
    ],
    [
      'an unknown font',
      document(node('Text', { style: { fontFamily: 'Helvetca' } })),
      'template.tsx:3: <Text style>: there is no such font family (did you mean Helvetica?)',
    ],
    [
      'a flag that is none',
      document(node('View', { fixed: 'yes' })),
      'template.tsx:3: <View fixed>: must be true or false',
    ],
    [
      'a script for a link',
      document(node('Link', { src: ' JavaScript:alert(1)' })),
      'template.tsx:3: <Link src>: a link must be of http',
    ],
    [
      'a file for a link',
      document(node('Link', { href: 'file:///etc/passwd' })),
      'template.tsx:3: <Link href>: a link must be of http',
    ],
    ['loose text', document('hello'), 'template.tsx:3: text must be inside <Text>'],
    ['a page within a page', document(node('Page')), 'template.tsx:3: <Page> cannot be here'],
    ['a shape outside a drawing', document(node('Rect')), 'template.tsx:3: <Rect> cannot be here'],
    ['children of a field', document(node('TextInput', {}, node('Text'))), '<TextInput> takes no children'],
    [
      'a page of one point',
      node('Document', {}, node('Page', { size: [200, 1] })),
      'template.tsx:3: <Page size>: each side must be from 28 to 14400 points',
    ],
    [
      'a page size of no name',
      node('Document', {}, node('Page', { size: 'constructor' })),
      'template.tsx:3: <Page size>: is not a page size',
    ],
    [
      'an entry of its own for the PDF',
      node('Document', { pageMode: 'useNone /OpenAction 1 0 R' }),
      'template.tsx:3: <Document pageMode>: must be a name of letters',
    ],
    [
      'an entry of its own for the PDF in a bookmark',
      document(node('View', { bookmark: { title: 'a', zoom: '1] /OpenAction [' } })),
      'template.tsx:3: <View bookmark>: zoom must be a number',
    ],
    [
      'a field no bookmark has',
      document(node('View', { bookmark: { titel: 'a' } })),
      'template.tsx:3: <View bookmark>: takes the fields title, top, left, zoom, fit, expanded',
    ],
    [
      'a state of a box that is no name',
      document(node('Checkbox', { onState: 'On /AA' })),
      'template.tsx:3: <Checkbox onState>: must be a name of letters',
    ],
    [
      'JavaScript for a reader',
      document(node('TextInput', { format: { type: 'date', param: '' } })),
      'template.tsx:3: <TextInput format>: it would put JavaScript into the PDF',
    ],
    [
      'a password',
      node('Document', { userPassword: 'x' }),
      'template.tsx:3: <Document userPassword>: a PDF of the service is not encrypted',
    ],
    [
      'a choice of no texts',
      document(node('Select', { select: [{}] })),
      'template.tsx:3: <Select select>: must be a list of strings',
    ],
    ['no document', node('Page'), 'template.tsx:3: <Page> cannot be at the root: a component returns a <Document>'],
    ['a text for a document', 'hello', 'template.tsx: the component must return exactly one <Document>'],
    ['no node at all', 7, 'template.tsx: the component returned no element tree'],
    [
      'a node without props',
      { type: 'Document', children: [] },
      'template.tsx: the component returned no element tree',
    ],
  ] as const)('with %s is refused', ([, root, message]) => {
    expect(() => translated(root)).toThrow(
      expect.objectContaining({ code: 'template_error', message: expect.stringContaining(message) }),
    )
  })

  test('of two documents is refused', () => {
    expect(() => translate([document(), document()], translation)).toThrow(/exactly one <Document>/)
  })

  test.for([
    ['a path', '/etc/passwd', 'template.tsx:3: <Image src>: image /etc/passwd: an image must be an asset'],
    ['a URL', 'https://example.com/a.png', 'template.tsx:3: <Image src>: image of example.com: the host is not'],
    ['a source', { uri: 'file:///etc/passwd' }, 'template.tsx:3: <Image src>: image file:///etc/passwd: an image'],
    ['bytes', { data: [1, 2], format: 'png' }, 'template.tsx:3: <Image src>: must be a string such as asset:logo.png'],
  ] as const)('with %s for an image is refused as asset_unavailable', ([, src, message]) => {
    expect(() => translated(document(node('Image', { src })))).toThrow(
      expect.objectContaining({ code: 'asset_unavailable', message: expect.stringContaining(message) }),
    )
  })

  test.for(['Image', 'ImageBackground'])('with no value for the image of %s has its box without it', (type) => {
    expect(() => translated(document(node(type, { src: null })))).not.toThrow()
  })

  test('may have as many elements as the limit and not one more', () => {
    const text = node('Text')
    const holding = (count: number): Json => {
      const page: Json = { type: 'Page', props: {}, children: Array.from({ length: count }, () => text) }
      return node('Document', {}, page)
    }
    expect(() => translated(holding(ELEMENTS_MAX - 2))).not.toThrow()
    expect(() => translated(holding(ELEMENTS_MAX - 1))).toThrow(/more than 200000 elements/)
  })

  test('may be as deep as the limit and not deeper', () => {
    const nested = (depth: number): Json => (depth === 0 ? node('Text') : node('View', {}, nested(depth - 1)))
    expect(() => translated(document(nested(ELEMENT_DEPTH_MAX - 2)))).not.toThrow()
    expect(() => translated(document(nested(ELEMENT_DEPTH_MAX - 1)))).toThrow(/nested more than 200 deep/)
  })

  test('leaves out what a condition leaves behind', () => {
    expect(childrenOf(pageOf(document('0', ' ', node('Text'))))).toEqual([null, null, expect.anything()])
  })
})

test('is told the column of the element, or of its prop, where the source has them', () => {
  const { find } = transpile('const a = (\n  <X>\n    <A.View><View style={b} wrap="no" /></A.View>\n</X>)')
  const translating = (child: Json) => () => translate([document(child)], { ...translation, find })
  expect(translating(node('View', { wrap: 'no' }))).toThrow('template.tsx:3:29: <View wrap>: must be true or false')
  expect(translating(node('View', { style: { colour: 1 } }))).toThrow(
    'template.tsx:3:19: <View style>: there is no style',
  )
  expect(translating(node('View', { fixd: true }))).toThrow('template.tsx:3:5: <View fixd>: there is no such prop')
  expect(translating(node('Graph'))).toThrow('template.tsx:3: <Graph> is not an element here')
})

describe('a style', () => {
  test('is flattened, the last of a name winning, in the place of the first', () => {
    const style = [{ padding: 1, paddingTop: 2 }, false, [{ padding: 3 }]]
    const [view] = childrenOf(pageOf(document(node('View', { style }))))
    expect(Object.entries(view?.props['style'] ?? {})).toEqual([
      ['padding', 3],
      ['paddingTop', 2],
    ])
  })

  test('names a fallback for every font family', () => {
    const texts = ['Helvetica', 'Times-Roman', ['Courier', 'DejaVu Sans'], 'Brand'].map((fontFamily) =>
      node('Text', { style: { fontFamily } }),
    )
    expect(childrenOf(pageOf(document(...texts))).map(({ props }) => props['style'])).toEqual([
      { fontFamily: ['Arimo', 'DejaVu Sans', 'last resort'] },
      { fontFamily: ['Tinos', 'DejaVu Sans', 'last resort'] },
      { fontFamily: ['Cousine', 'DejaVu Sans', 'last resort'] },
      { fontFamily: ['template 0', 'DejaVu Sans', 'last resort'] },
    ])
  })
})

describe('a document', () => {
  test('carries the name of its template for a title, and template and version among its keywords', () => {
    expect(translated(document()).props).toMatchObject({
      title: 'Invoice',
      keywords: 'template:invoice, version:7',
      creator: 'Platen',
      producer: 'Platen',
    })
  })

  test('is in the language its author names, else in that of the template', () => {
    const languageOf = (props: Record<string, Json>) => {
      const template = { ...translation.template, locale: 'pl-PL' }
      return translate([node('Document', props, node('Page'))], { ...translation, template }).props['language']
    }
    expect([languageOf({}), languageOf({ language: 'de' })]).toEqual(['pl-PL', 'de'])
  })

  test('carries the title its author gives it', () => {
    const own = node('Document', { title: 'Invoice 42', author: 'ACME', keywords: 'due', creator: 'me' }, node('Page'))
    expect(translated(own).props).toMatchObject({
      title: 'Invoice 42',
      author: 'ACME',
      keywords: 'due, template:invoice, version:7',
      creator: 'Platen',
    })
  })
})

describe('the options of a render', () => {
  test.for([
    ['500 all round on A6', { size: 'A6' }, { margin: 500 }, '0 × 0 of a page of 297.6 × 419.5'],
    [
      'a size of the options',
      {},
      { margin: 250, page_size: { width: 500, height: 600 } },
      '0 × 100 of a page of 500 × 600',
    ],
    [
      'a page on its side',
      { size: 'A6' },
      { margin: { top: 280 }, orientation: 'landscape' },
      '419.5 × 17.6 of a page',
    ],
    [
      'sides in units',
      { size: ['100mm', '200mm'] },
      { margin: { left: '100mm' } },
      '0 × 566.9 of a page of 283.5 × 566.9',
    ],
    ['pixels of a page', { size: ['600px', '600px'], dpi: 144 }, { margin: 150 }, '0 × 0 of a page of 300 × 300'],
    ['a size of another series', { size: 'b6' }, { margin: 180 }, '0 × 138.9 of a page of 354.3 × 498.9'],
    ['a size of no series', { size: 'ID1' }, { margin: { top: 240 } }, '153.1 × 2.9 of a page'],
  ] as const)('refuse a margin that leaves no room: %s', ([, props, options, message]) => {
    expect(() => pageOf(sized(props as Record<string, Json>), options)).toThrow(
      expect.objectContaining({
        code: 'invalid_options',
        message: expect.stringContaining(`template.tsx:3: options.margin leaves ${message}`),
      }),
    )
  })

  const sized = (props: Record<string, Json>) => node('Document', {}, node('Page', props))

  test.for([
    ['nothing', {}, {}, { orientation: 'portrait' }],
    ['the page alone', { size: 'A5', orientation: 'landscape' }, {}, { size: 'A5', orientation: 'landscape' }],
    [
      'a size',
      { size: 'A5', orientation: 'landscape' },
      { page_size: 'LETTER' },
      { size: 'LETTER', orientation: 'landscape' },
    ],
    ['an orientation', { size: 'A5' }, { orientation: 'landscape' }, { size: 'A5', orientation: 'landscape' }],
    [
      'sides',
      { orientation: 'landscape' },
      { page_size: { width: 300, height: 400 } },
      { size: [300, 400], orientation: 'portrait' },
    ],
    [
      'sides lying',
      {},
      { page_size: { width: 300, height: 400 }, orientation: 'landscape' },
      { size: [400, 300], orientation: 'portrait' },
    ],
    [
      'sides standing',
      {},
      { page_size: { width: 400, height: 300 }, orientation: 'portrait' },
      { size: [300, 400], orientation: 'portrait' },
    ],
    [
      'an orientation over sides',
      { size: [400, 300] },
      { orientation: 'landscape' },
      { size: [400, 300], orientation: 'portrait' },
    ],
    [
      'an orientation over sides in units',
      { size: ['8in', '4in'], orientation: 'landscape' },
      { orientation: 'portrait' },
      { size: [288, 576], orientation: 'portrait' },
    ],
    [
      'an orientation over sides by name',
      { size: { width: 400, height: 300 } },
      { orientation: 'landscape' },
      { size: [400, 300], orientation: 'portrait' },
    ],
  ] as const)('decide the format of a page: %s', ([, props, options, expected]) => {
    const { size, orientation } = pageOf(sized(props), options).props
    expect({ size, orientation }).toEqual({ size: undefined, ...expected })
  })

  test.for([
    ['too short in its unit', ['9mm', '200mm']],
    ['too long in its unit', { width: '100mm', height: '201in' }],
    ['too short by the pixels of the page', ['100px', '1000px']],
  ] as const)('refuse a side that is %s', ([, size]) => {
    expect(() => pageOf(sized({ size: Object.values(size), dpi: 300 }))).toThrow(
      /template\.tsx:3: each side of a page must be from 28 to 14400 points/,
    )
  })

  test.for([
    ['for all sides', 36, { paddingTop: 36, paddingRight: 36, paddingBottom: 36, paddingLeft: 36 }],
    ['in a unit', '1in', { paddingTop: 72, paddingRight: 72, paddingBottom: 72, paddingLeft: 72 }],
    ['for one side', { left: '10pt' }, { paddingLeft: 10 }],
  ] as const)('make a margin %s the padding of a page, after its own', ([, margin, expected]) => {
    const page = pageOf(sized({ style: { paddingTop: 5, padding: 6 } }), { margin })
    const entries = Object.entries(page.props['style'] as Props)
    expect(entries.slice(entries.findIndex(([name]) => name === 'padding') + 1)).toEqual(Object.entries(expected))
  })
})

describe('a render function', () => {
  const dynamic: Json = { type: 'Text', props: {}, children: [], line: 3, render: 5 }

  test('is called with the numbers of the page alone, and its nodes are checked like any', () => {
    const calls: unknown[] = []
    const call = (id: number, page: Props) => {
      calls.push([id, page])
      return ['page ', node('View')]
    }
    const document_ = translate([document(dynamic)], { ...translation, call })
    const [page] = childrenOf(document_)
    const [text] = childrenOf(page as ReactElement<Props>)
    const render = text?.props['render'] as (page: Props) => unknown
    expect(() => render({ pageNumber: 1, totalPages: 4, secret: 1 })).toThrow(/<View> cannot be in <Text>/)
    expect(calls).toEqual([[5, { pageNumber: 1, totalPages: 4 }]])
  })

  test('is refused on an element that has none', () => {
    expect(() => translated(document({ type: 'Svg', props: {}, children: [], line: 3, render: 0 }))).toThrow(
      /<Svg render>: there is no such prop/,
    )
  })
})
