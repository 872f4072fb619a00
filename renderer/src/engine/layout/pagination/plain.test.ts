import { describe, expect, test } from 'vitest'
import type { LayoutNode } from '../inspect/layout-node.ts'
import { PLAIN_LAYOUT_NODES_MAX, wantsPlain } from './plain.ts'

type Fields = Omit<LayoutNode, 'children'>

const node = (type: string, fields: Fields, ...children: LayoutNode[]): LayoutNode => ({
  type,
  props: {},
  ...fields,
  children,
})
const view = (fields: Fields = {}, ...children: LayoutNode[]) =>
  node('VIEW', { box: { top: 0, height: 20 }, ...fields }, ...children)
const text = (fields: Fields = {}) => node('TEXT', { box: { top: 0, height: 12 }, ...fields })
const pageGroup = {}
const page = (fields: Fields, ...children: LayoutNode[]) =>
  node(
    'PAGE',
    { style: { height: 400 }, box: { height: 400 }, ...fields, props: { pageGroup, ...fields.props } },
    ...children,
  )
const document = (...pages: LayoutNode[]): LayoutNode => ({ type: 'DOCUMENT', children: pages })

const row = { style: { flexDirection: 'row' } }
const coloured = { style: { backgroundColor: 'red' } }
const full = { box: { top: 0, height: 400 } }

describe('the plain pagination is wanted for', () => {
  test.for<[what: string, LayoutNode]>([
    ['a page that does not wrap', document(page({ props: { wrap: false } }, text()))],
    ['a row that begins a page', document(page({}, text()), page({}, view(row, text())))],
    ['a row within a box that does', document(page({}, text()), page({}, view({}, view(row))))],
    ['a colour where a page has room left', document(page({}, text()), page({}, view(coloured, text())))],
    ['the rest of a coloured text', document(page({}, text(full)), page({}, text({ ...coloured, wasSplit: true })))],
    [
      'a box cut at its height',
      document(page({}, view(full)), page({}, view({ props: { bookmark: null }, style: { height: 20 } }))),
    ],
    [
      'the edge of a box without its content',
      document(page({}, text(), view({}, view({ style: { height: 2 } }))), page({}, text())),
    ],
    [
      'a header made for each page',
      document(page({}, text({ props: { fixed: true, isDynamic: true } }), text(full)), page({}, text())),
    ],
    [
      'something made for each page in the flow',
      document(page({}, text({ props: { isDynamic: true } })), page({}, text())),
    ],
    [
      'something fixed after the content',
      document(page({}, text(full)), page({}, text(), text({ props: { fixed: true } }))),
    ],
    [
      'something positioned on a second page',
      document(page({}, text(full)), page({}, text(), view({ style: { position: 'absolute' } }))),
    ],
    [
      'something made for each page, pinned in a box',
      document(page({}, view({}, text({ props: { isDynamic: true }, style: { position: 'absolute' } })))),
    ],
    ['what does not wrap and fills the page', document(page({}, view({ ...full, props: { wrap: false } })))],
    ['a row that fills the page', document(page({}, view({ ...row, ...full })))],
  ])('%s', ([, layout]) => {
    expect(wantsPlain(layout)).toBe(true)
  })
})

describe('the fast pagination is good for', () => {
  test.for<[what: string, LayoutNode]>([
    ['a layout nothing is known of', {}],
    ['rows and colours on one page', document(page({}, view(row, text()), view(coloured)))],
    ['the same on two that are not one', document(page({}, text()), page({ props: { pageGroup: {} } }, view(row)))],
    ['text over pages', document(page({}, text(full)), page({}, text({ wasSplit: true })))],
    ['rows that do not wrap', document(page({}, text()), page({}, view({ style: row.style, props: { wrap: false } })))],
    [
      'a page that begins where it is told to',
      document(page({}, text()), page({}, view({ ...coloured, props: { break: true } }))),
    ],
    [
      'text below a fixed header',
      document(
        page({}, text({ props: { fixed: true } }), text(full)),
        page({}, text({ props: { fixed: true } }), text()),
      ),
    ],
    [
      'a footer in the flow',
      document(page({ props: { hasFooter: true } }, text()), page({ props: { hasFooter: true } }, view(row))),
    ],
    [
      'more than can be laid out twice',
      document(page({}, text()), page({}, view(row), ...Array.from({ length: PLAIN_LAYOUT_NODES_MAX }, () => text()))),
    ],
  ])('%s', ([, layout]) => {
    expect(wantsPlain(layout)).toBe(false)
  })
})
