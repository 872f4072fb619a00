/**
 * React elements as the nodes react-pdf lays out. Its own way there is React's reconciler, which keeps a tree for the next
 * update; a document of ours is laid out once.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import { FRAGMENT } from '../../template/element/page-layout.ts'
import type { Props } from '../../template/element/prop.ts'

/** A node as react-pdf's layout takes it; of a text, only the first two fields. */
export interface Instance {
  readonly type: string
  readonly value?: string
  readonly box?: object
  readonly style?: unknown
  readonly props?: Props
  readonly children?: readonly Instance[]
}

/** The nodes of elements, texts and lists of them. What `render` and `layout` functions return is made into nodes when it is there. */
export function instancesOf(node: ReactNode): Instance[] {
  if (typeof node === 'string' || typeof node === 'number')
    return node === '' ? [] : [{ type: 'TEXT_INSTANCE', value: String(node) }]
  if (Array.isArray(node)) return node.flatMap(instancesOf)
  if (!isElement(node)) return []
  const { type, props } = node
  if (type === FRAGMENT) return [props['node'] as Instance]
  const { style = {}, children, ...others } = props
  return [{ type, box: {}, style, props: withInstances(others), children: instancesOf(children as ReactNode) }]
}

/** Translation makes elements of these alone: no component, and nothing that is not known by name. */
function isElement(node: ReactNode): node is ReactElement<Props, string> {
  return typeof node === 'object' && node !== null && 'type' in node && typeof node.type === 'string'
}

/** react-pdf calls them during pagination, and takes nodes. */
function withInstances(props: Props): Props {
  const { render, layout } = props as {
    render?: (page: object) => ReactNode
    layout?: (page: object) => ReactNode
  }
  if (render !== undefined) props['render'] = (page: object) => instancesOf(render(page))
  if (layout !== undefined) {
    props['layout'] = (page: object, content: readonly Instance[]) =>
      instancesOf(layout({ ...page, children: content.map((node) => createElement(FRAGMENT, { node })) }))
  }
  return props
}
