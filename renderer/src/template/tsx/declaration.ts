/**
 * Declares a template's modules and the globals of its sandbox. Props and styles are not typed here: `element-lint.ts` checks their values
 * against our own tables, so that the two cannot differ.
 */
import { PRIMITIVES } from '../element/primitive.ts'
import { FIGURE_MODULE, FIGURES } from '../figure/figures.ts'

/** The namespace of the data's types, and the type of the component's props. */
export const DATA_NAMESPACE = 'PlatenData'
export const COMPONENT_PROPS = `${DATA_NAMESPACE}.Props`

const COMPONENTS = Object.keys(PRIMITIVES)
  .map((name) => `  export const ${name}: Component`)
  .join('\n')

const FIGURE_COMPONENTS = Object.keys(FIGURES)
  .map((name) => `  export const ${name}: Figure`)
  .join('\n')

/** Members that code for other runtimes may name stay untyped. */
export const SANDBOX_DECLARATIONS = `
declare namespace JSX {
  interface Element { readonly type: any; readonly props: any; readonly key: any }
  type ElementType = any
  interface IntrinsicElements { [name: string]: any }
  interface IntrinsicAttributes { key?: any }
  interface ElementChildrenAttribute { children: {} }
}
/** Of the sandbox, and of later versions of the language. */
declare const InternalError: any, Iterator: any, Float16Array: any
/** A template is a CommonJS module in the end. */
declare const require: any, module: any, exports: any
declare const console: { [method in 'log' | 'info' | 'warn' | 'error' | 'debug' | 'trace']: (...values: any[]) => void }

declare module 'react' {
  export type ReactNode = any
  export type ReactElement<Props = any> = JSX.Element
  export type JSXElementConstructor<Props = any> = any
  export type PropsWithChildren<Props = unknown> = Props & { children?: any }
  export type FC<Props = {}> = (props: Props) => any
  export type FunctionComponent<Props = {}> = FC<Props>
  export type ComponentType<Props = {}> = FC<Props>
  export type ComponentProps<Type = any> = any
  export type CSSProperties = any
  export type Key = string | number | bigint
  export { JSX }
  export const Fragment: any
  export const Children: {
    map: (children: any, visit: (child: any, index: number) => any) => any
    forEach: (children: any, visit: (child: any, index: number) => void) => void
    count: (children: any) => number
    toArray: (children: any) => any[]
    only: (children: any) => any
  }
  export function createElement(type: any, props?: any, ...children: any[]): JSX.Element
  export function cloneElement(element: any, props?: any, ...children: any[]): JSX.Element
  export function isValidElement(value: any): value is JSX.Element
  export function memo<Type>(component: Type, isEqual?: any): Type
  export function forwardRef(component: (props: any, reference: any) => any): (props: any) => any
  const module: typeof import('react')
  export default module
}

declare module '@react-pdf/renderer' {
  interface PageNumbers { pageNumber: number; totalPages: number; subPageNumber: number; subPageTotalPages: number }
  interface ComponentProps { render?: (page: PageNumbers) => any; style?: any; children?: any; [prop: string]: any }
  type Component = (props: ComponentProps) => JSX.Element
  export type Style = any
  export type Styles = any
  export const StyleSheet: { create<Styles>(styles: Styles): Styles }
  export const Font: any
${COMPONENTS}
  const module: typeof import('@react-pdf/renderer')
  export default module
}

declare module '${FIGURE_MODULE}' {
  type Figure = (props: { [prop: string]: any }) => JSX.Element
${FIGURE_COMPONENTS}
  const module: typeof import('${FIGURE_MODULE}')
  export default module
}
`

/** The library of the language. Others, such as that of browsers, are large and declare names that a template lacks. */
const LIBRARY_FILE = /^lib\.(?:es5|es20(?:1[5-9]|2[0-3])(?:\.[a-z]+)*|decorators(?:\.legacy)?)\.d\.ts$/

export function isLibraryFile(name: string): boolean {
  return LIBRARY_FILE.test(name)
}

/**
 * Nearly half of the library are typed arrays and other objects that documents do not need. A template that names none of them is checked
 * without them: a first check takes a sixth less, with the same findings. Only these declarations refer to each other, which a test checks.
 */
export const RARE_NAMES = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'DataView',
  'Atomics',
  'Proxy',
  'Reflect',
] as const

const NAMES = RARE_NAMES.join('|')

/** A line, or a block up to the next bracket at the start of a line. */
const RARE_DECLARATION = new RegExp(
  `^(?:declare )?(?:interface|namespace|var) (?:${NAMES})(?:Constructor|Handler)?\\b(?:[^{;\\n]*;|[^]*?^\\})`,
  'gm',
)

/** One of the names, or code that can form a name. */
const RARE = new RegExp(String.raw`${NAMES}|globalThis|\\u`)

export function mayNameRare(source: string): boolean {
  return RARE.test(source)
}

export function withoutRare(text: string): string {
  return text.replace(RARE_DECLARATION, '')
}
