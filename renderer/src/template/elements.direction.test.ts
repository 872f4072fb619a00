import { expect, test } from 'vitest'
import { childrenOf, document, node, pageOf, translated } from '../../../test/fixture/tree.ts'

const LEFT_TO_RIGHT_ISOLATE = '\u2066'
const RIGHT_TO_LEFT_ISOLATE = '\u2067'
const POP_ISOLATE = '\u2069'

test('start is a side by the direction of the page, of a view around, or of the element itself', () => {
  const box = node('View', { style: { marginStart: 1 } })
  const own = node('View', { style: { marginStart: 1, direction: 'ltr' } })
  const inner = node('View', { style: { direction: 'ltr' } }, box)
  const root = node('Document', {}, node('Page', { style: { direction: 'rtl' } }, box, own, inner))
  const [page] = childrenOf(translated(root))
  const [first, second, third] = page === undefined ? [] : childrenOf(page)
  expect(first?.props['style']).toEqual({ marginRight: 1 })
  expect(second?.props['style']).toEqual({ marginLeft: 1, direction: 'ltr' })
  expect(third && childrenOf(third)[0]?.props['style']).toEqual({ marginLeft: 1 })
})

test('a margin of the options overrides a padding at the start', () => {
  const root = node('Document', {}, node('Page', { style: { direction: 'rtl', paddingStart: 1 } }))
  const page = pageOf(root, { margin: '10pt' })
  expect(page.props['style']).toMatchObject({ paddingRight: 10, paddingLeft: 10 })
})

test.for([
  ['rtl', 'ltr', [LEFT_TO_RIGHT_ISOLATE, 'a', POP_ISOLATE]],
  ['ltr', 'rtl', [RIGHT_TO_LEFT_ISOLATE, 'a', POP_ISOLATE]],
  ['rtl', 'rtl', ['a']],
  ['ltr', 'ltr', ['a']],
] as const)(
  'in a text that reads %s, one that reads %s is set apart if it is another',
  ([outer, direction, content]) => {
    const inner = node('Text', { style: { direction } }, 'a')
    const [text] = childrenOf(pageOf(document(node('Text', { style: { direction: outer } }, inner))))
    const [part] = text === undefined ? [] : childrenOf(text)
    expect(part?.props['children']).toEqual(content)
  },
)

test.for([
  [{ borderStartColor: 5 }, 'the style borderStartColor must be a string'],
  [{ start: 'near' }, 'the style start must be a number, a length such as 5mm, a percentage or auto'],
  [{ marginStrat: 5 }, 'there is no style marginStrat (did you mean marginStart?)'],
] as const)('the style %o is refused by its own name', ([style, message]) => {
  expect(() => translated(document(node('View', { style })))).toThrow(`template.tsx:3: <View style>: ${message}`)
})
