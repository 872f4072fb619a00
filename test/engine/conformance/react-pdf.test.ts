import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import { openTemplateCheck } from '@platen/renderer/template/check.ts'
import { PRIMITIVES, STYLES } from '@platen/renderer/template/element/primitive.ts'
import { openSandbox } from '@platen/renderer/template/evaluate.ts'
import { transpile } from '@platen/renderer/template/tsx/transpile.ts'
import { describe, expect, test } from 'vitest'
import { aReactPdfEngine, aWork } from '../react-pdf/react-pdf-fixture.ts'
import { factsOf, type PageFacts } from './facts.ts'
import { printPlain, SPECIMEN_DATA, setUpFonts, specimens } from './plain.ts'

/** Points two words of the same page may lie apart. */
const TOLERANCE_PT = 0.5
const DEADLINE_MS = 20_000

await setUpFonts()
const engine = aReactPdfEngine()

describe('the engine prints as react-pdf alone does:', () => {
  test.for(specimens().map((specimen) => [specimen.name, specimen] as const))('%s', async ([, specimen]) => {
    const work = aWork({ source: specimen.source, data: SPECIMEN_DATA })
    const { pdf } = await engine.render(work, AbortSignal.timeout(DEADLINE_MS))
    const [ours, plain] = await Promise.all([factsOf(pdf), factsOf(await printPlain(specimen))])
    expect(ours.pages.map(textsOf)).toEqual(plain.pages.map(textsOf))
    expect(ours.pages.map(({ size }) => size)).toEqual(plain.pages.map(({ size }) => size))
    expect(Math.max(0, ...ours.pages.map((page, at) => distance(page, plain.pages[at])))).toBeLessThan(TOLERANCE_PT)
    expect(ours.structure).toEqual(plain.structure)
    // To the last of them: both draw by the same code, so there is nothing to tolerate.
    expect(ours.pages.map(({ picture }) => picture)).toEqual(plain.pages.map(({ picture }) => picture))
  })
})

function textsOf({ words }: PageFacts): readonly string[] {
  return words.map(({ text }) => text)
}

/** How far apart two words are at most, of pages with the same words. */
function distance(page: PageFacts, other: PageFacts | undefined): number {
  const lengths = page.words.map(({ x, y }, at) => {
    const word = other?.words[at]
    return word === undefined ? Number.POSITIVE_INFINITY : Math.max(Math.abs(word.x - x), Math.abs(word.y - y))
  })
  return Math.max(0, ...lengths)
}

describe('the documents have', () => {
  test('every primitive with every prop, and every style', async () => {
    const evaluate = await openSandbox()
    const seen = new Set<string>()
    for (const { source } of specimens()) {
      const { nodes } = await evaluate(transpile(source), { data: JSON.stringify(SPECIMEN_DATA), options: {} })
      for (const node of nodesIn(nodes)) note(node, seen)
    }
    const props = Object.entries(PRIMITIVES).flatMap(([name, primitive]) => [
      name,
      ...Object.keys(primitive.props).map((prop) => `${name} ${prop}`),
    ])
    expect([...props, ...STYLES].filter((name) => !seen.has(name) && !isCommon(name))).toEqual([])
  })

  test('and the check finds no fault with any of them, and warns only of what react-pdf itself does not draw', async () => {
    const check = openTemplateCheck(await openSandbox())
    const asked = { assets: [], variablesSchema: '{"type":"object"}', sampleData: JSON.stringify(SPECIMEN_DATA) }
    const found: CheckFault[] = []
    for (const { source } of specimens())
      found.push(...(await check({ ...asked, source: aWork({ source }).template, isWarned: true })))
    expect(found.filter(({ isWarning }) => isWarning !== true)).toEqual([])
    const warned = found.map(({ message }) => /: (<.*)/.exec(message)?.[1])
    expect(new Set(warned)).toEqual(new Set(UNDRAWN))
  })

  test('more than a hundred of them', () => {
    expect(specimens().length).toBeGreaterThan(100)
  })
})

/** What the documents have that react-pdf reads and does not draw. */
const UNDRAWN = [
  '<Rect visibility>: has no effect: leave the element out',
  ...['fillRule', 'gradientTransform', 'stroke', 'strokeDasharray', 'strokeLinecap', 'strokeLinejoin'].map(
    (name) => `<Text style>: the style ${name} has no effect on <Text>`,
  ),
  '<Text style>: the style strokeOpacity has no effect on <Text>',
  '<Text style>: the style strokeWidth has no effect on <Text>',
  '<Text style>: the style wordSpacing has no effect on <Text>',
  '<View style>: the style flexFlow has no effect on <View>: write flexDirection and flexWrap',
]

function note({ type, props }: TreeNode, seen: Set<string>): void {
  seen.add(type)
  for (const [name, value] of Object.entries(props)) {
    seen.add(`${type} ${name}`)
    for (const style of name === 'style' ? namesIn(value) : []) seen.add(style)
  }
}

/** What the service writes itself, the flag of the pagination that is its own business, and what only our line breaker knows. */
const OURS = [
  'Document keywords',
  'Document creator',
  'Document producer',
  'Page experimentalPagination',
  'Text lang',
  'hyphens',
  'overflowWrap',
]

/** Props of many elements, which all have them from one list in `primitive.ts`: seen on one they are seen on all. */
const COMMON = [
  'id style fixed break minPresenceAhead debug bookmark wrap',
  'fill color stroke transform strokeDasharray opacity strokeWidth fillOpacity fillRule strokeOpacity textAnchor',
  'strokeLinecap strokeLinejoin visibility clipPath markerStart markerMid markerEnd dominantBaseline',
  'required noExport readOnly value defaultValue noSpell sort edit multiSelect src source cache',
].flatMap((names) => names.split(' '))

function isCommon(name: string): boolean {
  return OURS.includes(name) || COMMON.includes(name.split(' ')[1] ?? '')
}

interface TreeNode {
  readonly type: string
  readonly props: JsonObject
  readonly children: Json
}

function nodesIn(nodes: Json): readonly TreeNode[] {
  // Nodes of the sandbox: texts, and objects with these fields.
  const elements = (nodes as readonly unknown[]).filter((node) => typeof node === 'object') as TreeNode[]
  return elements.flatMap((node) => [node, ...nodesIn(node.children)])
}

function namesIn(style: Json): readonly string[] {
  if (Array.isArray(style)) return style.flatMap(namesIn)
  return typeof style === 'object' && style !== null
    ? Object.entries(style).flatMap(([name, value]) => [name, ...namesIn(value)])
    : []
}
