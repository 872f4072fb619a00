import { createElement } from 'react'
import { expect, test } from 'vitest'
import { indexProps, type LayoutPage, pageLayoutOf, pinnedFirst } from './page-layout.ts'

interface TestNode {
  readonly type: string
  readonly props: Readonly<Record<string, unknown>>
  readonly children?: readonly TestNode[]
}

const node = (id: string, place: number, ...children: TestNode[]): TestNode => ({
  type: 'VIEW',
  props: { id, ...indexProps(place) },
  children,
})
const part = (of: TestNode) =>
  createElement('FRAGMENT', { node: of } as never) as NonNullable<LayoutPage['children']>[number]

/** The ids of nodes, with the ids of their children in brackets. */
function idsOf(nodes: readonly TestNode[]): string {
  return nodes
    .map(({ props, children = [] }) => `${String(props['id'])}${children.length > 0 ? `(${idsOf(children)})` : ''}`)
    .join(' ')
}

const laidOut = (page: LayoutPage, measured?: Parameters<typeof pageLayoutOf>[0]) => {
  // A frame returns parts in react-pdf's form.
  const parts = pageLayoutOf(measured)(page) as readonly { readonly props: { readonly node: TestNode } }[]
  return idsOf(parts.map(({ props }) => props.node))
}

test('what is pinned comes first, first of it what is created again, and the rest keeps its order', () => {
  const pinned = { type: 'View', props: { fixed: true, style: { position: 'absolute' } }, children: [] }
  const dynamic = { ...pinned, children: [{ type: 'Text', props: {}, children: [], render: 0 }] }
  expect(pinnedFirst(['a', pinned, 'b', dynamic])).toEqual({ order: [3, 1, 0, 2], isMoved: true, dynamicCount: 1 })
  expect(pinnedFirst([pinned, 'a'])).toEqual({ order: [0, 1], isMoved: false, dynamicCount: 0 })
})

test('children are put back into their places when a page is built, at any depth', () => {
  const children = [part(node('overlay', 2)), part(node('a', 0)), part(node('b', 1, node('y', 1), node('x', 0)))]
  expect(laidOut({ children, pageNumber: 1, subPageNumber: 1 })).toBe('a b(x y) overlay')
  expect(laidOut({ children, pageNumber: 1 })).toBe('overlay a b(y x)')
})

test('the children of an overlay are taken out of it and put into their places', () => {
  const overlay = { type: 'VIEW', props: { isOverlay: true }, children: [node('number', 2), node('stamp', 0)] }
  expect(laidOut({ children: [part(overlay), part(node('a', 1))], subPageNumber: 1 })).toBe('stamp a number')
})

test('a footer comes from its holder if there is one, and is created again if there is none', () => {
  const holder: TestNode = {
    type: 'VIEW',
    props: { holdsFooter: true },
    children: [{ type: 'VIEW', props: {}, children: [node('footer', 0)] }],
  }
  const measured = () => [part(node('measured', 0))]
  const page = { pageNumber: 3, subPageNumber: 2 }
  expect(laidOut({ children: [part(holder), part(node('a', 0))], ...page }, measured)).toBe('a footer')
  expect(laidOut({ children: [part(node('probe', 0))], ...page }, measured)).toBe('probe measured')
})
