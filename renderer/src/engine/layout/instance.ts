/**
 * Turns React elements into the nodes that react-pdf lays out. react-pdf itself uses React's reconciler, which keeps a tree for the next
 * update. Our documents are laid out only once.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import { FRAGMENT } from '../../template/element/pagination/page-layout.ts'
import type { Props } from '../../template/element/prop.ts'
import { type WrappingStyle, wrappingOf, wrappingStyleOf } from '../text/wrapping.ts'

/** A node as react-pdf's layout takes it. A text has only the first two fields. */
export interface Instance {
  readonly type: string
  readonly value?: string
  readonly box?: object
  readonly style?: unknown
  readonly props?: Props
  readonly children?: readonly Instance[]
}

/** The nodes of elements, texts and lists of them. The results of `render` and `layout` functions become nodes when they are called. */
export function instancesOf(node: ReactNode): Instance[] {
  return nodesOf(node, {})
}

/** `inherited` is what the elements around it say of the wrapping of lines. react-pdf hands on only the styles that it knows. */
function nodesOf(node: ReactNode, inherited: WrappingStyle): Instance[] {
  const nodes: Instance[] = []
  addNodes(node, inherited, nodes)
  return nodes
}

function addNodes(node: ReactNode, inherited: WrappingStyle, nodes: Instance[]): void {
  if (typeof node === 'string' || typeof node === 'number') {
    if (node !== '') nodes.push({ type: 'TEXT_INSTANCE', value: String(node) })
  } else if (Array.isArray(node)) {
    for (const child of node) addNodes(child as ReactNode, inherited, nodes)
  } else if (isElement(node)) nodes.push(instanceOf(node, inherited))
}

function instanceOf({ type, props }: ReactElement<Props, string>, inherited: WrappingStyle): Instance {
  if (type === FRAGMENT) return props['node'] as Instance
  const { style = NO_STYLE, children, ...others } = props
  const wrapping = wrappingStyleOf(props, inherited)
  if (type === 'TEXT') others['hyphenationCallback'] = wrappingOf(wrapping)
  const instances = nodesOf(children as ReactNode, wrapping)
  return { type, box: {}, style, props: withInstances(others, wrapping), children: instances }
}

/** Of all elements without one: what is computed for a style is computed once for each object. */
const NO_STYLE = Object.freeze({})

/** Translation makes only such elements: no components, and only types that are names. */
function isElement(node: ReactNode): node is ReactElement<Props, string> {
  return typeof node === 'object' && node !== null && 'type' in node && typeof node.type === 'string'
}

/** react-pdf calls these functions during pagination and expects nodes. */
function withInstances(props: Props, inherited: WrappingStyle): Props {
  const { render, layout } = props as {
    render?: (page: object) => ReactNode
    layout?: (page: object) => ReactNode
  }
  if (render !== undefined) props['render'] = (page: object) => nodesOf(render(page), inherited)
  if (layout !== undefined) {
    props['layout'] = (page: object, content: readonly Instance[]) =>
      nodesOf(layout({ ...page, children: content.map((node) => createElement(FRAGMENT, { node })) }), inherited)
  }
  return props
}
