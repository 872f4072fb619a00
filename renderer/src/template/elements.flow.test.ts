import { createElement, type ReactElement } from 'react'
import { describe, expect, test } from 'vitest'
import { childrenOf, document, node, type Props, pageOf, translated, translation } from '../../../test/fixture/tree.ts'
import { openPaginationGuard } from './element/pagination/pagination-guard.ts'
import { translate } from './elements.ts'
import { ELEMENTS_MAX } from './limit.ts'

describe('fixed elements', () => {
  const fixed = (name: string, position?: string) =>
    node('Text', { id: name, fixed: true, style: position === undefined ? {} : { position } })
  const plain = (name: string) => node('Text', { id: name })
  const idsOf = (elements: readonly ReactElement<Props>[]) => elements.map(({ props }) => props['id'])

  test('that are positioned absolutely come first, wherever they stand', () => {
    const children = childrenOf(
      pageOf(document(plain('a'), fixed('footer', 'absolute'), plain('b'), fixed('stamp', 'absolute'))),
    )
    expect(idsOf(children)).toEqual(['footer', 'stamp', 'a', 'b'])
  })

  test('that end a page in the flow are carried to its front, for a frame to set them down', () => {
    const page = pageOf(document(fixed('header'), plain('a'), fixed('footer')))
    const [holder, ...content] = childrenOf(page)
    expect(holder?.props).toMatchObject({ holdsFooter: true, fixed: true, style: { height: 0 } })
    expect(idsOf(content)).toEqual(['header', 'a'])
    const layout = page.props['layout'] as (props: Props) => readonly ReactElement<Props>[]
    const probe = createElement('FRAGMENT', { node: { type: 'VIEW', props: { id: 'probe' } } } as Props)
    const measured = layout({ children: [probe], pageNumber: 2, subPageNumber: 2 })
    expect(measured.map(({ type, props }) => [type, props['id']])).toEqual([
      ['FRAGMENT', undefined],
      ['TEXT', 'footer'],
    ])
  })

  test('that are all there is are content', () => {
    const page = pageOf(document(fixed('a'), fixed('b')))
    expect(idsOf(childrenOf(page))).toEqual(['a', 'b'])
    expect(page.props).not.toHaveProperty('layout')
  })
})

describe('a text with emoji', () => {
  const text = '⭐⭐ ok'

  test('is cut behind each, where react-pdf would lose the font', () => {
    const [own, link] = childrenOf(pageOf(document(node('Text', {}, text), node('Text', {}, node('Text', {}, text)))))
    const cut = (style?: Props) => [
      '⭐',
      ...['⭐', ' ok'].map((part) => createElement('TEXT', style && { style }, part)),
    ]
    expect(own?.props['children']).toEqual(cut({ backgroundColor: 'transparent' }))
    expect(link && childrenOf(link)[0]?.props['children']).toEqual(cut())
  })

  test.for([
    ['in a drawing', node('Svg', {}, node('Text', {}, text))],
    ['in a note', node('Note', {}, text)],
  ] as const)('is left whole %s', ([, root]) => {
    expect(JSON.stringify(pageOf(document(root)))).toContain(`"${text}"`)
  })

  test('counts every part of it', () => {
    expect(() => translated(document(node('Text', {}, '⭐'.repeat(ELEMENTS_MAX))))).toThrow(/more than 200000 elements/)
  })
})

test('react-pdf’s own pagination gets every child in its place, and what ends it', () => {
  const children = [node('Text', { id: 'a' }), node('Text', { id: 'b', fixed: true, style: { position: 'absolute' } })]
  const [page] = childrenOf(
    translate([document(...children)], { ...translation, paginationGuard: openPaginationGuard(1) }),
  )
  expect(page?.props).toMatchObject({ experimentalPagination: false })
  expect(childrenOf(page as ReactElement<Props>).map(({ key, props }) => key ?? props['id'])).toEqual([
    'pagination-guard',
    'a',
    'b',
  ])
})
