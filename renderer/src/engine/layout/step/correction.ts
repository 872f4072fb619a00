/**
 * Corrects react-pdf where it lays text out from the right, and where it sets marks: vowels and accents over and under letters. It has no
 * option, plugin or subclass for that, and each of its packages is one file. So we change these places of them while they are loaded. The
 * versions are exact, and a place that is not there once ends the process.
 */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import {
  type Change,
  DIRECTION_OF_BOXES,
  DIRECTION_OF_LINES,
  PLACE_OF_MARKS,
  UNIT_OF_MARKS,
} from './change/direction.ts'
import { FASTER_DRAWING, FASTER_MATRIX } from './change/drawing.ts'

const PLAIN_TEXT = new URL('./plain/text.ts', import.meta.url).href

/** Steps of ours in place of react-pdf's, with the same results in less time. */
const FASTER_STEPS: readonly Change[] = [
  {
    from: "import * as Yoga from 'yoga-layout/load';",
    to: `import * as Yoga from 'yoga-layout/load';
import { dimensionStep } from '${new URL('./box/dimensions.ts', import.meta.url).href}';
import { hasNoRadius, inheritedStyle, mergedStyle, resolvedStyle } from '${new URL('./styles.ts', import.meta.url).href}';
import { mapped, withChildren } from '${new URL('./children.ts', import.meta.url).href}';
import { isPlain } from '${PLAIN_TEXT}';
import { linesOf } from '${new URL('./texts.ts', import.meta.url).href}';`,
  },
  {
    from: 'const layoutText = (node, width, height, fontStore) => {\n',
    to: `const layoutText = (node, width, height, fontStore) => linesOf(node, [width, height], () => layoutNewText(node, width, height, fontStore));
const layoutNewText = (node, width, height, fontStore) => {
`,
  },
  // Our fonts are loaded already. It would ask for those of each node, twice.
  {
    from: 'if (fontStore && n.style?.fontFamily) {',
    to: 'if (fontStore?.load && n.style?.fontFamily) {',
  },
  {
    from: '    for (let i = 0; i < PREPROCESSORS.length; i += 1) {',
    to: '    for (let i = 0; i < PREPROCESSORS.length && !fragments.every(isPlain); i += 1) {',
  },
  {
    from: `const resolvePageDimensions = (page, fontStore, yoga) => {
    if (isNil(page))
        return null;
    return compose(destroyYogaNodes, freeYogaNodes, persistDimensions, calculateLayout, createYogaNodes(page, fontStore, yoga))(page);
};`,
    to: `const resolvePageDimensions = dimensionStep({ setYogaValues, setMeasureFunc, measureText, isLayoutElement, persistDimensions });`,
  },
  {
    from: '    const resolveChild = (child) => resolvePageDimensions(child, fontStore, node.yoga);',
    to: '    const resolveChild = (child) => resolvePageDimensions(child, fontStore, { ...node.yoga, isFirst: true });',
  },
  {
    from: '    const style = computeStyle(container, node);\n',
    to: `    const style = isLink$1(node)
        ? computeStyle(container, node)
        : resolvedStyle(container, node.style, () => computeStyle(container, node));
`,
  },
  {
    from: 'const inheritStyles = pick(inheritableProperties, node.style || {});',
    to: 'const inheritStyles = inheritedStyle(inheritableProperties, node.style, pick);',
  },
  // From a long list V8 removes the first entry by moving all others.
  {
    from: `    while (listToExplore.length > 0) {
        const element = listToExplore.shift();
        if (!element)
            break;
`,
    to: `    for (const element of listToExplore) {
`,
  },
  // Nearly all boxes are turned around their middle, and most are not turned at all.
  ...['X', 'Y'].map((axis) => ({
    from: `= matchPercent(transformOrigin${axis});`,
    to: `= transformOrigin${axis} === '50%' ? MIDDLE : matchPercent(transformOrigin${axis});`,
  })),
  { from: 'const getOrigin = (node) => {', to: "const MIDDLE = matchPercent('50%');\nconst getOrigin = (node) => {" },
  // Only styles that have a radius need a copy.
  {
    from: 'const resolvePercentRadius = (node) => {\n    const style = evolve({',
    to: `const resolvePercentRadius = (node) => {
    const style = hasNoRadius(node.style) ? node.style : evolve({`,
  },
]

/** Fewer copies of nodes. V8 moves what is alive among the old objects, and then searches those in the middle of a long document. */
const FEWER_COPIES: readonly Change[] = [
  // A node with inherited styles is a copy already.
  {
    from: `const mergeStyles = (inheritedStyles) => (node) => {
    const style = merge(inheritedStyles, node.style || {});
    return Object.assign({}, node, { style });
};`,
    to: `const mergeStyles = (inheritedStyles, node) => {
    const style = mergedStyle(inheritedStyles, node.style, merge);
    return style === node.style ? node : { ...node, style };
};`,
  },
  { from: 'const resolveInheritance = (node) => {', to: 'const resolveInheritance = (node, isCopy) => {' },
  {
    from: `    const resolveChild = compose(resolveInheritance, mergeStyles(inheritStyles));
    const children = node.children.map(resolveChild);
    return Object.assign({}, node, { children });`,
    to: `    const children = [];
    for (const child of node.children) {
        const merged = mergeStyles(inheritStyles, child);
        children.push(resolveInheritance(merged, merged !== child));
    }
    if (isCopy !== true) return withChildren(node, children);
    node.children = children;
    return node;`,
  },
  {
    from: `    const resolveChild = (child) => resolveSvg(child, fontStore);
    const root = isSvg$3(resolved) ? resolveSvgRoot(resolved, fontStore) : resolved;
    const children = root.children?.map(resolveChild);
    return Object.assign({}, root, { children });`,
    to: `    const root = isSvg$3(resolved) ? resolveSvgRoot(resolved, fontStore) : resolved;
    return root.children ? withChildren(root, mapped(root.children, resolveSvg, fontStore)) : root;`,
  },
  {
    from: `    const resolveChild = compose(transformLink, resolveLinkSubstitution);
    const children = node.children.map(resolveChild);
    return Object.assign({}, node, { children });`,
    to: `    const children = [];
    for (const child of node.children) children.push(transformLink(resolveLinkSubstitution(child)));
    return withChildren(node, children);`,
  },
  {
    from: `        const mapChild = (child) => resolveTextLayout(child, fontStore);
        const children = node.children.map(mapChild);
        return Object.assign({}, node, { children });`,
    to: '        return withChildren(node, mapped(node.children, resolveTextLayout, fontStore));',
  },
  {
    from: 'return Object.assign({}, node, { box, children });',
    to: 'return box === node.box ? withChildren(node, children) : Object.assign({}, node, { box, children });',
  },
  // Sorts in place.
  {
    from: '    const children = sortedChildren.map(resolveNodeZIndex);\n    return Object.assign({}, node, { children });',
    to: '    sortedChildren.forEach(resolveNodeZIndex);\n    return node;',
  },
  {
    from: '    const children = node.children.map(resolveNodeOrigin);\n    return Object.assign({}, newNode, { children });',
    to: '    newNode.children = node.children.map(resolveNodeOrigin);\n    return newNode;',
  },
  {
    from: `    const newNode = Object.assign({}, node, { style });
    if (!node.children)
        return newNode;
    const children = node.children.map(resolvePercentRadius);
    return Object.assign({}, newNode, { children });`,
    to: `    const newNode = style === node.style ? node : Object.assign({}, node, { style });
    return node.children ? withChildren(newNode, node.children.map(resolvePercentRadius)) : newNode;`,
  },
  {
    from: `    if (!node.children) {
        return Object.assign({}, node, { style, wasSplit });
    }
`,
    to: `    const isSame = style === node.style && wasSplit === node.wasSplit;
    if (!node.children) {
        return isSame ? node : Object.assign({}, node, { style, wasSplit });
    }
`,
  },
  {
    from: '    return Object.assign({}, node, { style, wasSplit, children });',
    to: '    return isSame ? withChildren(node, children) : Object.assign({}, node, { style, wasSplit, children });',
  },
  {
    from: `        const children = (node.children || []).map((child) => renderDynamic(props, child));
        return { ...node, children };`,
    to: `        if (node.type === P.TextInstance) return node;
        const children = (node.children || []).map((child) => renderDynamic(props, child));
        return node.children ? withChildren(node, children) : { ...node, children };`,
  },
]

/** One function for all nodes: V8 forgets at a collection what it has compiled of a function that is made anew for each. */
const ONE_FUNCTION: readonly Change[] = [
  {
    from: 'const resolveNodeStyles = (container) => (node) => {',
    to: 'const resolveNodeStyles = (node, container) => {',
  },
  {
    from: 'node.children.map(resolveNodeStyles(container));',
    to: 'mapped(node.children, resolveNodeStyles, container);',
  },
  { from: 'return resolveNodeStyles(container)(page);', to: 'return resolveNodeStyles(page, container);' },
]

/** Most of the forty styles of a box are not set, and the names of methods are the same for each box. */
const FEWER_SETTERS: readonly Change[] = [
  {
    from: `const setYogaValue = (attr, edge) => (value) => (node) => {
    const { yogaNode } = node;
    if (!isNil(value) && yogaNode) {
        const hasEdge = !isNil(edge);
        const fixedMethod = \`set\${upperFirst(attr)}\`;
        const autoMethod = \`\${fixedMethod}Auto\`;
        const percentMethod = \`\${fixedMethod}Percent\`;
`,
    to: `const unchanged = (node) => node;
const setYogaValue = (attr, edge) => {
    const hasEdge = !isNil(edge);
    const fixedMethod = \`set\${upperFirst(attr)}\`;
    const autoMethod = \`\${fixedMethod}Auto\`;
    const percentMethod = \`\${fixedMethod}Percent\`;
    return (value) => isNil(value) ? unchanged : (node) => {
    const { yogaNode } = node;
    if (yogaNode) {
        if (typeof value === 'number') {
            if (hasEdge) yogaNode[fixedMethod]?.(edge, value);
            else yogaNode[fixedMethod]?.(value);
            return node;
        }
`,
  },
  { from: 'compose(setNodeHeight(node), setWidth(', to: 'inTurn(setNodeHeight(node), setWidth(' },
  {
    from: 'const setNodeHeight = (node) => {',
    to: `const inTurn = (...setters) => (node) => {
    for (const set of setters) if (set !== unchanged) set(node);
};
const setNodeHeight = (node) => {`,
  },
  ...['Grow', 'Shrink'].map((way) => ({
    from: `const setFlex${way} = (value) => (node) => {\n    return setYogaValue('flex${way}')(`,
    to: `const set${way}Value = setYogaValue('flex${way}');\nconst setFlex${way} = (value) => (node) => {\n    return set${way}Value(`,
  })),
  {
    from: '            yogaNode[fixedMethod]?.(value);\n        }\n    }\n    return node;\n};\n',
    to: '            yogaNode[fixedMethod]?.(value);\n        }\n    }\n    return node;\n};\n};\n',
  },
]

/** Of each style. V8 forgets what it compiled of functions that are made anew, and each property of a style copied those before it. */
const FASTER_RESOLVING: readonly Change[] = [
  {
    from: '    return Object.entries(style).reduce(',
    to: `    if (!Object.keys(style).some((key) => key.startsWith('@media'))) return style;
    return Object.entries(style).reduce(`,
  },
  { from: 'const resolve = (container) => (style) => {', to: 'const resolve = (container, style) => {' },
  {
    from: `    const computeMediaQueries = (value) => resolveMediaQueries(container, value);
    return compose(resolve(container), computeMediaQueries, flatten)(style);`,
    to: '    return resolve(container, resolveMediaQueries(container, flatten(style)));',
  },
]

/** The same of text layout. */
const FASTER_TEXTS: readonly Change[] = [
  {
    from: "import bidiFactory from 'bidi-js';",
    to: `import bidiFactory from 'bidi-js';
import { plainRuns } from '${PLAIN_TEXT}';
import { plainLine } from '${new URL('./plain/line.ts', import.meta.url).href}';`,
  },
  {
    from: '    return (attributedString, container, options = {}) => {\n        const processParagraph',
    to: `    const tools = { applyRunStyles, substitute: engines.fontSubstitution(), scaleOf: scale, heightOf: height$1, ascentOf: ascent$1, descentOf: descent };
    return (attributedString, container, options = {}) => {
        const line = plainLine(attributedString, container, tools);
        if (line) return [[line]];
        const processParagraph`,
  },
  {
    from: '        const { fontSubstitution, scriptItemizer, bidi } = engines;\n',
    to: `        const { fontSubstitution, scriptItemizer, bidi } = engines;
        const plain = plainRuns(attributedString, fontSubstitution());
        if (plain) return plain;
`,
  },
  // Brackets are mirrored in text from the right only.
  {
    from: '        const levels = getBidiLevels(attributedString.runs);\n        let updatedString',
    to: `        if (!attributedString.runs.some(({ attributes }) => attributes.bidiLevel % 2 === 1)) return attributedString;
        const levels = getBidiLevels(attributedString.runs);
        let updatedString`,
  },
]

/** A handle of a box is a plain object then. With a described property V8 makes it a table, which takes ten times as long. */
const FASTER_HANDLES: readonly Change[] = [
  { from: 'return T(Object.create(a,{M:{value:b}}))', to: 'a=Object.create(a);a.M=b;return T(a)' },
  // Most methods have few arguments, and nothing to clean up after the call.
  {
    from: 'return function(){arguments.length!==l&&L(',
    to: `const [returned,self,...given]=b;
if(g&&!k&&l<3&&given.every((type)=>type.V===null)){
const own=(node)=>self.toWireType(null,node),result=(value)=>m?returned.fromWireType(value):void 0,[first,second]=given;
if(l===0)return function(){return result(d(e,own(this)))};
if(l===1)return function(one){return result(d(e,own(this),first.toWireType(null,one)))};
return function(one,two){return result(d(e,own(this),first.toWireType(null,one),second.toWireType(null,two)))}}
return function(){arguments.length!==l&&L(`,
  },
]

/** A length in points needs no look at its unit. */
const NUMBERS: readonly Change[] = [
  {
    from: '      const value = args.pop();\n',
    to: `      const value = args.pop();
      if (typeof value === 'number') return methods[Unit.Point].call(this, ...args, value);
`,
  },
]

/** Each thread would load what documents rarely or never need. It takes a sixth of the processor's time up to the first document. */
const NOT_LOADED = {
  // yoga would `fetch` its WebAssembly, which is text in its module. For that Node loads its clients of HTTP.
  yoga: [
    {
      from: 'function ya(){return w||',
      to: 'function ya(){if(!w)return Promise.resolve(Buffer.from(H.split(",")[1],"base64"));return w||',
    },
  ],
  // Most documents have no image.
  layout: [
    {
      from: "import resolveImage from '@react-pdf/image';",
      to: "const resolveImage = async (...source) => (await import('@react-pdf/image')).default(...source);",
    },
  ],
  // Each text has a wrapping of ours.
  textkit: [
    { from: "import { syllables } from '@react-pdf/hyphenate/en-us';", to: 'const syllables = (word) => [word];' },
  ],
  // No PDF has a password, and react-pdf breaks the lines itself.
  pdfkit: [
    { from: "import { cbc, ecb } from '@noble/ciphers/aes';\n", to: '' },
    { from: "import LineBreaker from 'linebreak';\n", to: '' },
    { from: 'new LineBreaker(text)', to: "new (require$1('linebreak'))(text)" },
  ],
  // Four tables of Unicode are unpacked while fontkit is loaded, twice each.
  trie: [{ from: "= require('tiny-inflate')", to: "= (part) => new Uint8Array(require('zlib').inflateRawSync(part))" }],
} as const satisfies Record<string, readonly Change[]>

const CHANGES = new Map([
  [
    '/@react-pdf/layout/lib/index.js',
    [...DIRECTION_OF_BOXES, ...FASTER_STEPS, ...FEWER_COPIES, ...ONE_FUNCTION, ...FEWER_SETTERS, ...NOT_LOADED.layout],
  ],
  [
    '/@react-pdf/textkit/lib/textkit.js',
    [...DIRECTION_OF_LINES, ...PLACE_OF_MARKS, ...FASTER_TEXTS, ...NOT_LOADED.textkit],
  ],
  ['/@react-pdf/stylesheet/lib/index.js', FASTER_RESOLVING],
  ['/@react-pdf/render/lib/index.js', [...UNIT_OF_MARKS, ...FASTER_DRAWING]],
  ['/pdfkit/js/pdfkit.node.mjs', [...FASTER_MATRIX, ...NOT_LOADED.pdfkit]],
  ['/unicode-trie/index.js', [...NOT_LOADED.trie]],
  ['/yoga-layout/dist/binaries/yoga-wasm-base64-esm.js', [...FASTER_HANDLES, ...NOT_LOADED.yoga]],
  ['/yoga-layout/dist/src/wrapAssembly.js', NUMBERS],
])

/** Imports what `load` imports, with these changes to react-pdf. Has no effect if react-pdf was loaded before. */
export async function withCorrections<Module>(load: () => Promise<Module>): Promise<Module> {
  // In place of what fontkit unpacks WOFF2 with. fontkit itself stays as it is, because other threads share its compiled code.
  const brotli = new URL('./brotli.ts', import.meta.url).href
  const hooks = registerHooks({
    resolve: (name, context, nextResolve) => nextResolve(name === 'brotli/decompress.js' ? brotli : name, context),
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const changes = [...CHANGES].find(([path]) => new URL(url).pathname.endsWith(path))?.[1]
      if (changes === undefined) return loaded
      assert(loaded.source !== undefined && loaded.source !== null, `${url} has a source`)
      const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
      return { ...loaded, source: changed(source, changes, url) }
    },
  })
  try {
    return await load()
  } finally {
    hooks.deregister()
  }
}

/** Makes all changes in one pass. Each one alone would copy the text, and every thread waits for it. */
function changed(text: string, changes: readonly Change[], url: string): string {
  const places = changes.map((change) => ({ at: text.indexOf(change.from), ...change }))
  let [end, result] = [0, '']
  for (const { at, from, to } of places.toSorted((one, other) => one.at - other.at)) {
    assert(at >= end && text.indexOf(from, at + 1) === -1, `${url} has ${from} once`)
    result += text.slice(end, at) + to
    end = at + from.length
  }
  return result + text.slice(end)
}
