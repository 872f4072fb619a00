import { pdf } from '@react-pdf/renderer'
import type { ReactElement } from 'react'
import type { Props } from '../../template/element/prop.ts'

/** A node as react-pdf's layout takes it. A text has only the first two fields. */
export interface Instance {
  readonly type: string
  readonly value?: string
  readonly box?: object
  readonly style?: unknown
  readonly props?: Props
  readonly children?: readonly Instance[]
}

/** The nodes that react-pdf makes from a document. It makes those of `render` and `layout` functions when it calls them. */
export function instanceOf(document: ReactElement<Props>): Instance {
  // Its types do not include the container.
  return pdf(document as never).container.document as Instance
}
