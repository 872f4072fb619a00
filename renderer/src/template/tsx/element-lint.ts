/**
 * Checks the elements in a template's source against the tables of the translation, so that a wrong prop or style is found even where the
 * sample data do not lead. Only values that the compiler knows are checked: `fontSize: 'big'`, not `fontSize: size`. Pure.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import type TS from 'typescript'
import type { Families } from '../asset/fonts.ts'
import { STYLE_NAMES } from '../element/direction.ts'
import {
  type EffectPlace,
  elementWords,
  propWithoutEffect,
  stylesDrawn,
  styleWithoutEffect,
} from '../element/effect.ts'
import {
  PRIMITIVES,
  type Primitive,
  type PropKind,
  primitiveOf,
  REFUSED_PROPS,
  TEXT_PARENTS,
} from '../element/primitive.ts'
import { propValue } from '../element/prop.ts'
import { unknownProp } from '../figure/element.ts'
import { type FigureName, isFigureName } from '../figure/figures.ts'
import { type CompiledTemplate, SANDBOX, ts } from './compiler.ts'
import { bareOf, type Finding, isNothing, isSchemaObject, membersOf } from './finding.ts'

interface ElementLint extends CompiledTemplate {
  readonly families: Families
  /** Styles that were checked. Several elements may share one. */
  readonly seen: Set<TS.Node>
}

/** Checks one node, not its children. */
export function elementFindings(node: TS.Node, lint: ElementLint): readonly Finding[] {
  if (!ts.isJsxOpeningElement(node) && !ts.isJsxSelfClosingElement(node)) return []
  const name = primitiveNameOf(node.tagName, lint)
  if (name === undefined) return []
  if (isFigureName(name)) return figureFindings(node, name)
  const primitives = [primitiveOf(name, 'flow'), primitiveOf(name, 'svg')].filter((each) => each !== undefined)
  if (primitives.length === 0) {
    const message = `<${name}> is not an element here${suggestion(name, Object.keys(PRIMITIVES))}`
    return [{ position: node.tagName.getStart(), message }]
  }
  const attributes = node.attributes.properties.filter(ts.isJsxAttribute)
  const props = attributes.flatMap((attribute) => attributeFindings({ attribute, name, primitives }, lint))
  const places = placesOf(node, name, lint)
  const undrawn = attributes.flatMap((attribute) => undrawnFindings({ attribute, name, places }, lint))
  const children = ts.isJsxOpeningElement(node) ? node.parent.children : []
  return [...props, ...undrawn, ...children.flatMap((child) => childFindings(child, primitives, lint))]
}

/** The name of one of our elements, or an unknown name such as `div`. Undefined for components of the template. */
function primitiveNameOf(tag: TS.JsxTagNameExpression, { checker }: ElementLint): string | undefined {
  if (ts.isIdentifier(tag) && /^[a-z]/.test(tag.text)) return tag.text
  const found = checker.getSymbolAtLocation(tag)
  const isAlias = found !== undefined && (found.flags & ts.SymbolFlags.Alias) !== 0
  const symbol = isAlias ? checker.getAliasedSymbol(found) : found
  const isOurs = symbol?.declarations?.[0]?.getSourceFile().fileName === SANDBOX
  const isKnown = isOurs && (Object.hasOwn(PRIMITIVES, symbol.name) || isFigureName(symbol.name))
  return isKnown ? symbol.name : undefined
}

/** Values are checked when the figure is drawn. */
function figureFindings(node: TS.JsxOpeningLikeElement, name: FigureName): readonly Finding[] {
  return node.attributes.properties.filter(ts.isJsxAttribute).flatMap(({ name: prop }) => {
    const fault = prop.getText() === 'key' ? undefined : unknownProp(name, prop.getText())
    return fault === undefined ? [] : [{ position: prop.getStart(), message: fault }]
  })
}

interface ElementPlace {
  readonly primitive: Primitive
  readonly place: EffectPlace
}

/** Where an element may be, judged by the elements around it in the source. */
function placesOf(node: TS.JsxOpeningLikeElement, name: string, lint: ElementLint): readonly ElementPlace[] {
  const around = namesAround(node, lint)
  const kinds = KINDS.filter(({ kind, within }) => {
    if (!primitiveOf(name, kind)?.within.includes(kind)) return false
    return around.length === 0 || within === around.some((other) => DRAWINGS.has(other))
  })
  const isInline = around.includes('Text') || around.includes('Tspan')
  return kinds.flatMap(({ kind, within: isDrawing }) => {
    const primitive = primitiveOf(name, kind)
    if (primitive === undefined || (around.length > 0 && !isDrawing && (kind === 'text') !== isInline)) return []
    return [{ primitive, place: { isDrawing, isInline: kind === 'text' } }]
  })
}

/** The parents that make a difference for styles. `within`: inside a drawing. */
const KINDS = [
  { kind: 'document', within: false },
  { kind: 'root', within: false },
  { kind: 'flow', within: false },
  { kind: 'text', within: false },
  { kind: 'text', within: true },
  { kind: 'svg', within: true },
] as const

/** Children of these are inside a drawing. */
const DRAWINGS = new Set(['Svg', 'G', 'Defs', 'ClipPath', 'Marker', 'LinearGradient', 'RadialGradient'])

/** Our elements around an element, up to the edge of a component. */
function namesAround(node: TS.JsxOpeningLikeElement, lint: ElementLint): readonly string[] {
  const names: string[] = []
  let element: TS.Node = ts.isJsxOpeningElement(node) ? node.parent : node
  for (;;) {
    element = element.parent
    if (ts.isFunctionLike(element) && !isInJsx(element)) return names
    if (ts.isSourceFile(element)) return names
    if (!ts.isJsxElement(element)) continue
    const name = primitiveNameOf(element.openingElement.tagName, lint)
    // A component of the template may put its children anywhere.
    if (name === undefined) return names
    names.push(name)
  }
}

/** The function is inside JSX, as in `rows.map((row) => <View />)`. */
function isInJsx(node: TS.Node): boolean {
  let around: TS.Node | undefined = node.parent
  while (around !== undefined && (ts.isCallExpression(around) || ts.isParenthesizedExpression(around)))
    around = around.parent
  return around !== undefined && (ts.isJsxExpression(around) || ts.isBinaryExpression(around))
}

interface PlacedAttribute {
  readonly attribute: TS.JsxAttribute
  readonly name: string
  readonly places: readonly ElementPlace[]
}

/** Reports what is not drawn at any possible place. A warning, because elements may share a style. */
function undrawnFindings({ attribute, name, places }: PlacedAttribute, lint: ElementLint): readonly Finding[] {
  const prop = attribute.name.getText()
  const { initializer } = attribute
  const value = initializer !== undefined && ts.isJsxExpression(initializer) ? initializer.expression : initializer
  if (value === undefined || places.length === 0) return []
  const warned = (reason: string): Finding => {
    return { position: attribute.name.getStart(), message: `<${name} ${prop}>: ${reason}`, isWarning: true }
  }
  if (prop !== 'style') {
    const literals = literalsOf(value, lint.checker.getTypeAtLocation(value))
    return literals.flatMap((literal) => {
      const reasons = places.map(({ primitive, place: { isDrawing } }) =>
        propWithoutEffect(primitive, prop, { value: literal, isDrawing }),
      )
      const [first] = reasons
      return first === undefined || reasons.includes(undefined) ? [] : [warned(first)]
    })
  }
  const entries = styleEntries(value, lint)
  const others = Object.fromEntries(entries.map((entry) => [entry.name, entryValues(entry, lint)[0]]))
  return entries.flatMap((entry) => {
    if (entry.name.startsWith('@') || !STYLE_NAMES.has(entry.name)) return []
    const reasons = places.map(({ primitive, place }) => {
      const use = { drawn: stylesDrawn(primitive, place), of: elementWords(name, place), others }
      return entryValues(entry, lint)
        .map((literal) => styleWithoutEffect(entry.name, literal, use))
        .find((reason) => reason !== undefined)
    })
    const [first] = reasons
    return first === undefined || reasons.includes(undefined) ? [] : [warned(`the style ${entry.name} ${first}`)]
  })
}

/** The possible values of an entry of a style. True stands for a value that only the data know. */
function entryValues(entry: TS.Symbol, lint: ElementLint): readonly (string | number | boolean)[] {
  const value = writtenValue(entry, lint)
  if (value === undefined) return []
  const type = lint.checker.getTypeAtLocation(value)
  const literals = literalsOf(value, type)
  return literals.length > 0 || isNothing(type) ? literals : [true]
}

interface Attribute {
  readonly attribute: TS.JsxAttribute
  readonly name: string
  readonly primitives: readonly Primitive[]
}

function attributeFindings({ attribute, name, primitives }: Attribute, lint: ElementLint): readonly Finding[] {
  const prop = attribute.name.getText()
  if (['key', 'children', 'render'].includes(prop)) return []
  const position = attribute.name.getStart()
  const { initializer } = attribute
  const value = initializer !== undefined && ts.isJsxExpression(initializer) ? initializer.expression : initializer
  const type = value === undefined ? undefined : lint.checker.getTypeAtLocation(value)
  const kinds = primitives.flatMap(({ props }) => (Object.hasOwn(props, prop) ? [props[prop]] : []))
  if (kinds.length === 0) {
    if (type !== undefined && isNothing(type)) return []
    const known = primitives.flatMap(({ props }) => Object.keys(props))
    const refusal = Object.hasOwn(REFUSED_PROPS, prop) ? REFUSED_PROPS[prop] : undefined
    return [{ position, message: `<${name} ${prop}>: ${refusal ?? `there is no such prop${suggestion(prop, known)}`}` }]
  }
  if (value === undefined || type === undefined) return []
  if (kinds.includes('style')) return styleFindings(value, { ...lint, label: `<${name} ${prop}>` })
  const scope = { kinds, label: `<${name} ${prop}>` }
  return literalsOf(value, type).flatMap((literal) => {
    const fault = propFault(literal, scope, lint)
    return fault === undefined ? [] : [{ position, message: fault }]
  })
}

/** Undefined if one of the kinds accepts the value. */
function propFault(
  value: Json,
  { kinds, label }: { readonly kinds: readonly (PropKind | undefined)[]; readonly label: string },
  { families }: ElementLint,
): string | undefined {
  let fault: string | undefined
  for (const kind of kinds) {
    // An image needs the template's assets, and is checked with them.
    if (kind === undefined || kind === 'image') return undefined
    try {
      propValue(kind, value, {
        families,
        isCheck: true,
        faults: (message) => new ServiceError('template_error', message),
      })
      return undefined
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      fault = `${label}: ${error.message}`
    }
  }
  return fault
}

type StyleLint = ElementLint & { readonly label: string }

/** Follows a style to its object literals, anywhere in the template. */
function styleFindings(expression: TS.Expression, lint: StyleLint): readonly Finding[] {
  return styleEntries(expression, lint).flatMap((entry) => entryFindings(entry, lint))
}

function styleEntries(expression: TS.Expression, lint: ElementLint): readonly TS.Symbol[] {
  const bare = bareOf(expression)
  if (ts.isArrayLiteralExpression(bare)) return bare.elements.flatMap((element) => styleEntries(element, lint))
  if (ts.isConditionalExpression(bare))
    return [...styleEntries(bare.whenTrue, lint), ...styleEntries(bare.whenFalse, lint)]
  const objects = membersOf(lint.checker.getTypeAtLocation(bare)).filter(
    ({ flags }) => (flags & ts.TypeFlags.Object) !== 0,
  )
  const isList = objects.some((type) => lint.checker.isArrayLikeType(type))
  return isList ? [] : objects.flatMap((type) => lint.checker.getPropertiesOfType(type))
}

/** Undefined if the value is not written in the template. */
function writtenValue({ valueDeclaration }: TS.Symbol, lint: ElementLint): TS.Expression | undefined {
  if (valueDeclaration === undefined || valueDeclaration.getSourceFile() !== lint.file) return undefined
  if (ts.isPropertyAssignment(valueDeclaration)) return valueDeclaration.initializer
  return ts.isShorthandPropertyAssignment(valueDeclaration) ? valueDeclaration.name : undefined
}

function entryFindings(entry: TS.Symbol, lint: StyleLint): readonly Finding[] {
  const declaration = entry.valueDeclaration
  const value = writtenValue(entry, lint)
  if (declaration === undefined || value === undefined || lint.seen.has(declaration)) return []
  lint.seen.add(declaration)
  const position = ts.getNameOfDeclaration(declaration)?.getStart() ?? declaration.getStart()
  const { name } = entry
  const type = lint.checker.getTypeAtLocation(value)
  if (name.startsWith('@media ')) return styleFindings(value, lint)
  if (!STYLE_NAMES.has(name)) {
    return isNothing(type)
      ? []
      : [{ position, message: `${lint.label}: there is no style ${name}${suggestion(name, STYLE_NAMES)}` }]
  }
  return literalsOf(value, type).flatMap((literal) => {
    const message = propFault({ [name]: literal }, { kinds: ['style'], label: lint.label }, lint)
    return message === undefined ? [] : [{ position: value.getStart(), message }]
  })
}

/** The possible strings and numbers of a value, as far as the compiler knows. */
function literalsOf(value: TS.Expression, type: TS.Type): readonly (string | number)[] {
  // In an attribute, the type of a string literal may be just `string`.
  if (ts.isStringLiteralLike(value)) return [value.text]
  return membersOf(type).flatMap((member) =>
    member.isStringLiteral() || member.isNumberLiteral() ? [member.value] : [],
  )
}

function childFindings(
  child: TS.JsxChild,
  primitives: readonly Primitive[],
  { checker }: ElementLint,
): readonly Finding[] {
  const isTextParent = primitives.some(({ holds }) => holds !== undefined && TEXT_PARENTS.includes(holds))
  if (ts.isJsxText(child)) {
    const isBlank = ['', '0', 'NaN'].includes(child.text.trim())
    if (isTextParent || isBlank) return []
    const offset = child.text.length - child.text.trimStart().length
    return [{ position: child.getStart() + offset, message: 'text must be inside <Text>' }]
  }
  if (!ts.isJsxExpression(child) || child.expression === undefined) return []
  const type = checker.getNonNullableType(checker.getTypeAtLocation(child.expression))
  if (!membersOf(type).every(isSchemaObject)) return []
  return [{ position: child.expression.getStart(), message: 'an object is not a child: write one of its fields' }]
}
