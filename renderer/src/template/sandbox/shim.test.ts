import { describe, expect, test } from 'vitest'
import { openSandbox } from '../evaluate.ts'
import { transpile } from '../tsx/transpile.ts'

const evaluate = await openSandbox()

const IMPORTS =
  "import React from 'react'; import * as PDF from '@react-pdf/renderer'; import { Text, View } from '@react-pdf/renderer'\n"

async function messageOf(source: string): Promise<string> {
  try {
    await evaluate(transpile(source), { data: '{}', options: {} })
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  throw new Error('the template was evaluated')
}

describe('what is not there is named, with its place and what to do:', () => {
  test.for([
    ['React.useState(1)', 'useState is not available: a template is laid out once'],
    ['React.useMyOwn(1)', 'useMyOwn is not available: a template is laid out once'],
    ['React.createContext()', 'createContext is not available: pass values as props'],
    ['class A extends React.Component {}', 'Component is not available: write a function'],
    [
      'React.creatElement',
      /^template\.tsx:2:6: react has no creatElement here \(did you mean createElement\?\); it has createElement, /,
    ],
    [
      'PDF.Veiw',
      /^template\.tsx:2:4: @react-pdf\/renderer has no Veiw here \(did you mean View\?\); it has Document, Page, /,
    ],
    ['PDF.Chart', /^template\.tsx:2:4: @react-pdf\/renderer has no Chart here; it has /],
    ['PDF.Canvas', 'Canvas is not available: its paint function cannot leave the sandbox; draw with <Svg>'],
    ['PDF.usePDF()', 'usePDF is not available: the service renders'],
    ['PDF.renderToStream()', 'renderToStream is not available: the service renders'],
    ['PDF.Font.register({})', "Font.register is not available: fonts are declared in the template's fonts"],
    [
      'PDF.Font.registerHyphenationCallback()',
      'Font.registerHyphenationCallback is not available: the style hyphens: auto hyphenates words; a soft hyphen says where a word may break',
    ],
    ['PDF.Font.load()', 'Font.load is not available: the service keeps its fonts'],
  ] as const)('%s', async ([use, message]) => {
    const found = await messageOf(`${IMPORTS}${use}\nexport default () => null`)
    if (typeof message === 'string') expect(found).toMatch(/^template\.tsx:2:\d+: /)
    if (typeof message === 'string') expect(found.replace(/^template\.tsx:2:\d+: /, '')).toBe(message)
    else expect(found).toMatch(message)
  })

  test('an element imported by a wrong name', async () => {
    const found = await messageOf("import { Veiw } from '@react-pdf/renderer'\nexport default () => (\n  <Veiw />)")
    expect(found).toMatch(/^template\.tsx:3:4: @react-pdf\/renderer has no Veiw here \(did you mean View\?\)/)
  })

  test.for([
    ['axios', 'cannot import "axios": a template imports from react, @react-pdf/renderer and @platen/template only'],
    [
      '@react-pdf/rendrer',
      'cannot import "@react-pdf/rendrer" (did you mean @react-pdf/renderer?): a template imports from react, @react-pdf/renderer and @platen/template only',
    ],
  ] as const)('the module %s', async ([name, message]) => {
    expect(await messageOf(`import x from '${name}'\nexport default () => x`)).toBe(`template.tsx:1:1: ${message}`)
  })
})

describe('an element that cannot be is named, with its place:', () => {
  test.for([
    ['<Text>\n  {{ a: 1 }}</Text>', '2:22: an object is not a child: write one of its fields'],
    ['<View><Text>{() => 1}</Text></View>', '2:28: a function is not a child: was the component meant as an element?'],
    [
      '<View style={Promise.resolve()} />',
      '2:28: <View style>: a value cannot be asynchronous: pass what it waits for in the data',
    ],
    ['<View>{Promise.resolve()}</View>', '2:22: a child cannot be asynchronous: pass what it waits for in the data'],
    ['<View><Late /></View>', '2:28: a component cannot be asynchronous: pass what it waits for in the data'],
    ['<View><Classy /></View>', '2:28: class components are not available: write a function'],
    ['<View onClick={() => 1} />', '2:28: <View onClick>: only render can be a function'],
    [
      '<Text\n  hyphenationCallback={() => 1} />',
      /^3:3: <Text hyphenationCallback>: the style hyphens: auto hyphenates words/,
    ],
    ['<PDF.Document onRender={() => 1} />', /^2:36: <Document onRender>: nothing of the template runs/],
    [
      '<View><Missing.Part /></View>',
      '2: an element has no type: is its component imported, and exported where it is defined?',
    ],
    [
      '<View>{React.createElement({})}</View>',
      '2:22: the type of an element cannot be drawn: a component is a function',
    ],
  ] as const)('%s', async ([jsx, message]) => {
    const parts = 'const Late = async () => null; class Classy { render() {} }; const Missing = {}'
    const found = await messageOf(`${IMPORTS}export default () => ${jsx}\n${parts}`)
    if (typeof message === 'string') expect(found).toBe(`template.tsx:${message}`)
    else expect(found.replace('template.tsx:', '')).toMatch(message)
  })
})

describe('React has', () => {
  test.for([
    [
      'cloneElement',
      'React.cloneElement(<Text id="a" debug>x</Text>, { id: "b" }, "y")',
      { id: 'b', debug: true },
      ['y'],
    ],
    ['isValidElement', '<Text>{[<Text />, "x"].map(React.isValidElement).join()}</Text>', {}, ['true,false']],
    [
      'forwardRef',
      '(() => { const A = React.forwardRef((props, ref) => <Text {...props}>{String(ref)}</Text>); return <A id="a" /> })()',
      { id: 'a' },
      ['null'],
    ],
    [
      'keys that are nobody’s prop',
      '(() => { const A = (props) => <Text>{Object.keys(props).join()}</Text>; return React.createElement(A, { key: 1, b: 2 }) })()',
      {},
      ['b'],
    ],
  ] as const)('%s', async ([, jsx, props, children]) => {
    const { nodes } = await evaluate(transpile(`${IMPORTS}export default () => ${jsx}`), { data: '{}', options: {} })
    expect(nodes).toMatchObject([{ type: 'Text', props, children }])
  })
})
