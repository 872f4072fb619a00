/**
 * The modules in the sandbox of a react_pdf template: a few names of `react` and `@react-pdf/renderer`, and `Intl`. QuickJS evaluates them
 * in the same context, before the template. They give good messages and expand components. Their output is not trusted, because a template
 * may replace every builtin. See `elements.ts`.
 */
import { PRIMITIVES, REFUSED_PROPS } from '../element/primitive.ts'
import { FIGURE_MODULE, FIGURES } from '../figure/figures.ts'
import { BUILTINS } from './builtin.ts'
import { CONSOLE } from './console.ts'

/** Names of the real modules, and why they are missing here. */
const ABSENT = {
  react: {
    createContext: 'pass values as props',
    Component: 'write a function',
    PureComponent: 'write a function',
    lazy: 'a template is one file',
    Suspense: 'a template is laid out once',
  },
  '@react-pdf/renderer': {
    Canvas: 'its paint function cannot leave the sandbox; draw with <Svg>',
    ...Object.fromEntries(
      [
        'pdf',
        'render',
        'renderToStream',
        'renderToString',
        'renderToBuffer',
        'renderToFile',
        'PDFRenderer',
        'PDFViewer',
        'PDFDownloadLink',
        'BlobProvider',
        'usePDF',
        'version',
      ].map((name) => [name, 'the service renders']),
    ),
  },
}

const ABSENT_OF_FONT = {
  register: "fonts are declared in the template's fonts",
  registerHyphenationCallback: REFUSED_PROPS['hyphenationCallback'],
  registerEmojiSource: 'emoji are drawn by fonts',
}

/**
 * A function of three arguments. `host` is the host's `Intl`, JSON in and JSON out. `note` takes a line of the console. `run` is the
 * template as `(require, module, exports) => void`. Returns `{ begin(json), call(id, json) }`. Each answers with a JSON list of nodes. A node is a string or `{ type, props, children,
 * line?, render? }`, where `render` is an id for `call`.
 */
export const SHIM = `(host, note, run) => {
'use strict'
const { parse, stringify } = JSON
const FRAGMENT = Symbol('Fragment')
const NAMES = ${JSON.stringify(Object.keys(PRIMITIVES))}
const FIGURES = ${JSON.stringify(Object.keys(FIGURES))}
const renders = []

const ABSENT = ${JSON.stringify(ABSENT)}
const ABSENT_OF_FONT = ${JSON.stringify(ABSENT_OF_FONT)}
const REFUSED_PROPS = ${JSON.stringify(REFUSED_PROPS)}

/** The innermost element being expanded that has a line: where an error is that the stack knows no place of. */
let here
const placeOf = (element) => element && { line: element.line, element: nameOf(element.type) }
const fault = (message, more) => Object.assign(new Error(message), { isFault: true, ...placeOf(here) }, more)
/** An error where the template asks for what there is not, which the stack knows better. */
const faultOfUse = (message, more) => fault(message, { line: undefined, ...more })
const nameOf = (type) => (typeof type === 'function' ? type.name : String(type))

class Element {
  constructor(type, props, line) {
    if (type === undefined || type === null)
      throw fault('an element has no type: is its component imported, and exported where it is defined?', { line, element: undefined })
    this.type = type
    this.props = props
    this.line = line
  }
}

const jsxDEV = (type, props, key, isStatic, source) => new Element(type, props, source && source.lineNumber)
const jsx = (type, props) => new Element(type, props)
const createElement = (type, props, ...children) => {
  const { key, ...own } = props ?? {}
  if (children.length > 0) own.children = children.length === 1 ? children[0] : children
  return new Element(type, own)
}

const flat = (children) => (Array.isArray(children) ? children.flatMap(flat) : [typeof children === 'boolean' || children === undefined ? null : children])
const isThere = (node) => node !== null && node !== undefined
const Children = {
  map: (children, visit) => (isThere(children) ? flat(children).map((node, index) => visit(node, index)).filter(isThere) : children),
  forEach: (children, visit) => { if (isThere(children)) flat(children).forEach((node, index) => visit(node, index)) },
  count: (children) => (isThere(children) ? flat(children).length : 0),
  toArray: (children) => (isThere(children) ? flat(children).filter(isThere) : []),
  only: (children) => {
    if (!(children instanceof Element)) throw fault('Children.only: there is not exactly one element')
    return children
  },
}

/** A module: itself its default export, and an error for any name it has not. Its own names do not pass the proxy, which takes its time. */
const moduleOf = (name, members) => {
  const absent = new Proxy(Object.create(null), {
    get(target, key) {
      if (typeof key === 'symbol') return undefined
      const reason = key.startsWith('use') && name === 'react' ? 'a template is laid out once' : ABSENT[name]?.[key]
      if (reason !== undefined) throw faultOfUse(\`\${key} is not available: \${reason}\`)
      const known = Object.keys(members)
      throw faultOfUse(\`\${name} has no \${key} here\`, { wrong: key, known: known.join(','), rest: \`; it has \${known.join(', ')}\` })
    },
  })
  const module = Object.assign(Object.create(absent), members, { __esModule: true })
  return Object.defineProperty(module, 'default', { value: module })
}

const font = new Proxy({}, {
  get(target, key) {
    throw faultOfUse(\`Font.\${String(key)} is not available: \${ABSENT_OF_FONT[key] ?? 'the service keeps its fonts'}\`)
  },
})
const react = {
  createElement,
  Fragment: FRAGMENT,
  Children,
  memo: (component) => component,
  forwardRef: (component) => (props) => component(props, null),
  cloneElement: ({ type, props, line }, more, ...children) => {
    const { props: own } = createElement(type, { ...props, ...more }, ...children)
    return new Element(type, own, line)
  },
  isValidElement: (value) => value instanceof Element,
}
const MODULES = {
  __proto__: null,
  react: moduleOf('react', react),
  'react/jsx-runtime': moduleOf('react/jsx-runtime', { jsx, jsxs: jsx, Fragment: FRAGMENT }),
  'react/jsx-dev-runtime': moduleOf('react/jsx-dev-runtime', { jsxDEV, Fragment: FRAGMENT }),
  '@react-pdf/renderer': moduleOf('@react-pdf/renderer', {
    ...Object.fromEntries(NAMES.map((name) => [name, name])),
    StyleSheet: { create: (styles) => styles },
    Font: font,
  }),
  '${FIGURE_MODULE}': moduleOf('${FIGURE_MODULE}', Object.fromEntries(FIGURES.map((name) => [name, name]))),
}
const require = (name) => {
  if (name in MODULES) return MODULES[name]
  const known = 'react,@react-pdf/renderer,${FIGURE_MODULE}'
  throw faultOfUse(\`cannot import "\${name}"\`, { wrong: name, known, rest: ': a template imports from react, @react-pdf/renderer and ${FIGURE_MODULE} only' })
}

const expand = (node, into) => {
  if (node === null || node === undefined || typeof node === 'boolean') return
  // Each a text of its own, as react-pdf breaks lines and joins letters within one only.
  if (typeof node === 'string' || typeof node === 'number' || typeof node === 'bigint') return void into.push(String(node))
  if (node instanceof Element) return expandElement(node, into)
  if (typeof node === 'function') throw fault('a function is not a child: was the component meant as an element?')
  if (typeof node.then === 'function') throw fault('a child cannot be asynchronous: pass what it waits for in the data')
  if (typeof node[Symbol.iterator] !== 'function') throw fault('an object is not a child: write one of its fields')
  for (const child of node) expand(child, into)
}

const expandElement = (element, into) => {
  const above = here
  if (element.line !== undefined) here = element
  expandHere(element, into)
  here = above
}

const expandHere = ({ type, props, line }, into) => {
  if (type === FRAGMENT) return expand(props.children, into)
  if (typeof type === 'function') {
    if (type.prototype && type.prototype.render) throw fault('class components are not available: write a function')
    const result = type(props)
    if (typeof result?.then === 'function') throw fault('a component cannot be asynchronous: pass what it waits for in the data')
    return expand(result, into)
  }
  if (typeof type !== 'string') throw fault('the type of an element cannot be drawn: a component is a function')
  const node = { type, props: {}, children: [], line }
  for (const key of Object.keys(props)) {
    const value = props[key]
    if (key === 'children' || key === 'key' || value === undefined) continue
    if (typeof value === 'function' && key === 'render') node.render = renders.push(value) - 1
    else if (typeof value === 'function') throw fault(\`<\${type} \${key}>: \${REFUSED_PROPS[key] ?? 'only render can be a function'}\`, { prop: key })
    else if (typeof value?.then === 'function') throw fault(\`<\${type} \${key}>: a value cannot be asynchronous: pass what it waits for in the data\`, { prop: key })
    // An address without a value is none, and an object without the field is another mistake. JSON would make them one.
    else if (['src', 'source'].includes(key) && typeof value === 'object' && value !== null && Object.hasOwn(value, 'uri') && value.uri === undefined)
      node.props[key] = { ...value, uri: null }
    else node.props[key] = value
  }
  expand(props.children, node.children)
  into.push(node)
}

const nodesOf = (make) => {
  const nodes = []
  here = undefined
  expand(make(), nodes)
  return stringify(nodes)
}

${BUILTINS}${CONSOLE}
const module = { exports: {} }
run(require, module, module.exports)
const component = module.exports.default
if (typeof component !== 'function') throw fault('the template has no component as its default export')
return {
  begin: (json) => nodesOf(() => new Element(component, parse(json))),
  call: (id, json) => nodesOf(() => renders[id](parse(json))),
}
}`
