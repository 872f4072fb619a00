/**
 * What a react_pdf template finds in its sandbox: the few names of `react` and `@react-pdf/renderer`, and `Intl`. Evaluated in
 * QuickJS before the template, in the same context. It is there for good messages and for expanding components; nothing is
 * trusted that comes out of it (a template may have rewritten every builtin), see `elements.ts`.
 */
import { PRIMITIVES } from '../element/primitive.ts'

/**
 * A function of (format, code runner): `format` is the host's `Intl`, JSON in and JSON out; the runner is the template as
 * `(require, module, exports) => void`. Returns `{ begin(json), call(id, json) }`, each answering with JSON of a list of nodes:
 * a string, or `{ type, props, children, line?, render? }` where `render` is an id to `call`.
 */
export const SHIM = `(host, run) => {
'use strict'
const { parse, stringify } = JSON
const FRAGMENT = Symbol('Fragment')
const NAMES = ${JSON.stringify(Object.keys(PRIMITIVES))}
const renders = []

const fault = (message, line) => Object.assign(new Error(message), { isFault: true, line })

class Element {
  constructor(type, props, line) {
    if (type === undefined || type === null)
      throw fault('an element has no type: is its component imported, and exported where it is defined?', line)
    this.type = type
    this.props = props
    this.line = line
  }
}

const jsxDEV = (type, props, key, isStatic, source) => new Element(type, props, source && source.lineNumber)
const jsx = (type, props) => new Element(type, props)
const createElement = (type, props, ...children) => {
  const own = { ...props }
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

/** A module: itself its default export, and an error for any name it has not. */
const moduleOf = (name, members) => {
  const module = new Proxy(Object.assign(Object.create(null), members, { __esModule: true }), {
    get(target, key) {
      if (key === 'default') return module
      if (typeof key === 'symbol' || key in target) return target[key]
      throw fault(\`\${name} has no \${key} here; it has \${Object.keys(members).join(', ')}\`)
    },
  })
  return module
}

const font = new Proxy({}, {
  get(target, key) {
    throw fault(\`Font.\${String(key)} is not available: the built-in font families need no registering, and hyphenation is off\`)
  },
})
const MODULES = {
  __proto__: null,
  react: moduleOf('react', { createElement, Fragment: FRAGMENT, Children, memo: (component) => component }),
  'react/jsx-runtime': moduleOf('react/jsx-runtime', { jsx, jsxs: jsx, Fragment: FRAGMENT }),
  'react/jsx-dev-runtime': moduleOf('react/jsx-dev-runtime', { jsxDEV, Fragment: FRAGMENT }),
  '@react-pdf/renderer': moduleOf('@react-pdf/renderer', {
    ...Object.fromEntries(NAMES.map((name) => [name, name])),
    StyleSheet: { create: (styles) => styles },
    Font: font,
  }),
}
const require = (name) => {
  if (name in MODULES) return MODULES[name]
  throw fault(\`cannot import "\${name}": a template imports from react and @react-pdf/renderer only\`)
}

const expand = (node, into) => {
  if (node === null || node === undefined || typeof node === 'boolean') return
  if (typeof node === 'string' || typeof node === 'number' || typeof node === 'bigint') {
    const last = into.length - 1
    if (typeof into[last] === 'string') into[last] += node
    else into.push(String(node))
    return
  }
  if (node instanceof Element) return expandElement(node, into)
  if (typeof node === 'function') throw fault('a function is not a child: was the component meant as an element?')
  if (typeof node.then === 'function') throw fault('components and their children cannot be asynchronous')
  if (typeof node[Symbol.iterator] !== 'function') throw fault('an object is not a child: write one of its fields')
  for (const child of node) expand(child, into)
}

const expandElement = ({ type, props, line }, into) => {
  if (type === FRAGMENT) return expand(props.children, into)
  if (typeof type === 'function') {
    if (type.prototype && type.prototype.render) throw fault('class components are not available: write a function', line)
    return expand(type(props), into)
  }
  const node = { type, props: {}, children: [], line }
  for (const key of Object.keys(props)) {
    const value = props[key]
    if (key === 'children' || key === 'key' || value === undefined) continue
    if (typeof value === 'function' && key === 'render') node.render = renders.push(value) - 1
    else if (typeof value === 'function') throw fault(\`<\${String(type)} \${key}>: a function is possible as render only\`, line)
    else node.props[key] = value
  }
  expand(props.children, node.children)
  into.push(node)
}

const nodesOf = (result) => {
  const nodes = []
  expand(result, nodes)
  return stringify(nodes)
}

const ask = (...question) => {
  const { value, error } = parse(host(stringify(question)))
  if (error !== undefined) throw new RangeError(error)
  return value
}
const numeric = (value) => (typeof value === 'bigint' ? \`\${value}n\` : String(value))
const instant = (value) => (value === undefined ? Date.now() : Number(value))
const formatter = (kind, valueOf) => function (locales, options) {
  const call = (method, ...values) => ask(kind, method, locales ?? null, options ?? null, ...values)
  call('resolvedOptions')
  return {
    format: (value) => call('format', valueOf(value)),
    formatToParts: (value) => call('formatToParts', valueOf(value)),
    resolvedOptions: () => call('resolvedOptions'),
  }
}
const NumberFormat = formatter('number', numeric)
const localized = (kind) => function (locales, options) { return ask(kind, 'format', locales ?? null, options ?? null, Number(this)) }
const define = (target, members) => {
  for (const key of Object.keys(members)) Object.defineProperty(target, key, { value: members[key], writable: true, configurable: true })
}
define(globalThis, { Intl: { NumberFormat, DateTimeFormat: formatter('datetime', instant) } })
for (const type of [Number, BigInt])
  define(type.prototype, { toLocaleString(locales, options) { return NumberFormat(locales, options).format(this.valueOf()) } })
define(Date.prototype, {
  toLocaleString: localized('both'),
  toLocaleDateString: localized('date'),
  toLocaleTimeString: localized('time'),
})

const module = { exports: {} }
run(require, module, module.exports)
const component = module.exports.default
if (typeof component !== 'function') throw fault('the template has no component as its default export')
return {
  begin: (json) => nodesOf(new Element(component, parse(json))),
  call: (id, json) => nodesOf(renders[id](parse(json))),
}
}`
