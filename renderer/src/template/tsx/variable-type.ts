/**
 * Turns a `variables_schema` into declarations for the compiler. A type allows at least what the schema allows: what TypeScript cannot
 * express becomes `any`, so that no use of valid data is refused. Each part is written once and a reference is a name, so the text grows no
 * faster than the schema. Pure.
 */

import { referencedPart } from '@platen/contract/schema/variable/reference.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { COMPONENT_PROPS, DATA_NAMESPACE } from './declaration.ts'

/** Values of an `enum` that become literal types. Nobody reads a longer list. */
const LITERALS_MAX = 200
/** Items of a list with their own type. */
const PLACES_MAX = 50
/** Parts of a schema that are written. A part is written again for each depth of a reference to it. */
const PARTS_MAX = 20_000
/** Nested unions multiply; a type with more members becomes `any`. */
const MEMBERS_MAX = 100

/** Declares a namespace with the props of the component. Expects a valid schema. An open object gets an index signature. */
export function declarationOf(schema: JsonObject): string {
  const writer = new TypeWriter(schema)
  const data = writer.refer('')
  const [space, props] = [DATA_NAMESPACE, COMPONENT_PROPS.slice(DATA_NAMESPACE.length + 1)]
  return `declare namespace ${space} {
interface ${props} { data: ${data.text}; options: any; [name: string]: any }
${writer.declarations().join('\n')}
}`
}

interface Written {
  readonly text: string
  /** Members of a union; 1 for any other type. */
  readonly members: number
}

const ANY: Written = { text: 'any', members: 1 }

class TypeWriter {
  readonly #root: JsonObject
  /** A nested `$id` changes what references mean. */
  readonly #isRebased: boolean
  #parts = 0
  readonly #named = new Map<string, { readonly name: string; written?: Written }>()

  constructor(root: JsonObject) {
    this.#root = root
    this.#isRebased = Object.values(root).some(hasId)
  }

  declarations(): readonly string[] {
    return [...this.#named.values()].map(({ name, written }) => `type ${name} = ${written?.text ?? ANY.text}`)
  }

  /** The name of the type at a JSON pointer. It is written on first use. */
  refer(pointer: string): Written {
    const known = this.#named.get(pointer)
    // A recursive type counts as a large union, so that nothing multiplies it.
    if (known !== undefined) return { text: known.name, members: known.written?.members ?? MEMBERS_MAX }
    const schema = referencedPart(this.#root, pointer)
    if (schema === undefined) return ANY
    const entry: { readonly name: string; written?: Written } = { name: `Type${this.#named.size}` }
    this.#named.set(pointer, entry)
    entry.written = this.#write(schema)
    return { text: entry.name, members: entry.written.members }
  }

  #write(schema: Json | undefined): Written {
    this.#parts += 1
    if (!isJsonObject(schema) || this.#parts > PARTS_MAX) return ANY
    const parts = [this.#ownOf(schema), ...this.#referred(schema), ...this.#allOf(schema), ...this.#branches(schema)]
    return intersection(parts.filter((part) => part !== undefined))
  }

  #referred({ $ref: reference, $dynamicRef: dynamic }: JsonObject): readonly Written[] {
    if (dynamic !== undefined) return [ANY]
    if (typeof reference !== 'string') return []
    const isPointer = reference === '#' || reference.startsWith('#/')
    return [isPointer && !this.#isRebased ? this.refer(reference.slice(1)) : ANY]
  }

  #allOf({ allOf }: JsonObject): readonly Written[] {
    return Array.isArray(allOf) ? allOf.map((part: Json) => this.#write(part)) : []
  }

  #branches(schema: JsonObject): readonly Written[] {
    return [schema['anyOf'], schema['oneOf']].flatMap((branches) =>
      Array.isArray(branches) ? [union(branches.map((branch: Json) => this.#write(branch)))] : [],
    )
  }

  /** The type by the keywords `const`, `enum` and `type`. Undefined if they say nothing. */
  #ownOf(schema: JsonObject): Written | undefined {
    const { const: constant, enum: values, type } = schema
    if (constant !== undefined) return union([literalOf(constant)])
    if (Array.isArray(values))
      return values.length > LITERALS_MAX ? undefined : union(values.map((value: Json) => literalOf(value)))
    const types = Array.isArray(type) ? type : type === undefined ? impliedBy(schema) : [type]
    return types.length === 0 ? undefined : union(types.map((name: Json) => this.#typeOf(name, schema)))
  }

  #typeOf(type: Json, schema: JsonObject): Written {
    if (type === 'array') return this.#listOf(schema)
    if (type === 'object') return this.#objectOf(schema)
    if (type === 'number' || type === 'integer') return { text: 'number', members: 1 }
    return type === 'string' || type === 'boolean' || type === 'null' ? { text: type, members: 1 } : ANY
  }

  #listOf({ items, prefixItems }: JsonObject): Written {
    const rest = this.#write(items).text
    if (!Array.isArray(prefixItems)) return { text: `Array<${rest}>`, members: 1 }
    const places = prefixItems.slice(0, PLACES_MAX).map((place: Json) => `(${this.#write(place).text})?`)
    const tail = items === false ? '' : `...Array<${prefixItems.length > PLACES_MAX ? 'any' : rest}>`
    return { text: `[${[...places, tail].filter((place) => place !== '').join(', ')}]`, members: 1 }
  }

  #objectOf(schema: JsonObject): Written {
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
    const fields = Object.entries(properties).map(
      ([name, value]) => `${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${this.#write(value).text}`,
    )
    const { additionalProperties: others, patternProperties: patterns } = schema
    const isOpen = others !== false || (isJsonObject(patterns) && Object.keys(patterns).length > 0)
    // The type of an index signature must fit each field.
    const isMap = fields.length === 0 && isJsonObject(others) && patterns === undefined
    const index = isMap ? this.#write(others).text : 'any'
    return { text: `{ ${[...fields, ...(isOpen ? [`[name: string]: ${index}`] : [])].join('; ')} }`, members: 1 }
  }
}

/** The types that other keywords imply if `type` is missing. */
function impliedBy(schema: JsonObject): readonly string[] {
  const names = ['properties', 'additionalProperties', 'patternProperties']
  if (names.some((name) => schema[name] !== undefined)) return ['object']
  return ['items', 'prefixItems'].some((name) => schema[name] !== undefined) ? ['array'] : []
}

function literalOf(value: Json): Written {
  if (value === null) return { text: 'null', members: 1 }
  if (typeof value === 'object') return ANY
  return { text: JSON.stringify(value), members: 1 }
}

function union(parts: readonly Written[]): Written {
  const texts = new Set(parts.map(({ text }) => text))
  const members = parts.reduce((sum, part) => sum + part.members, 0)
  if (texts.has('any') || texts.size === 0) return ANY
  return { text: [...texts].map((text) => `(${text})`).join(' | '), members }
}

/** Leaves out `any`. Becomes `any` itself if it would multiply large unions. */
function intersection(parts: readonly Written[]): Written {
  const telling = parts.filter(({ text }) => text !== 'any')
  const members = telling.reduce((product, part) => product * part.members, 1)
  if (telling.length === 0 || (telling.length > 1 && members > MEMBERS_MAX)) return ANY
  return { text: telling.map(({ text }) => `(${text})`).join(' & '), members }
}

function hasId(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  return '$id' in value || Object.values(value).some(hasId)
}
