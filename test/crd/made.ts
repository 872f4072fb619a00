/**
 * The parts of the definitions in `crds` that are made: the limits of a tenant from those of a plan, and the options of a template from
 * those of a request, spelt as resources spell them.
 */
import { TEMPLATE_OPTION_TEXTS, templateOptionsSchema } from '@platen/contract/domain/render-options.ts'
import { Document, isCollection, visit } from 'yaml'
import { readText } from '../architecture/source-tree.ts'
import { type CrdSchema, DEFINITIONS, type DefinedKind, readDefinition } from './definition.ts'

type Properties = Readonly<Record<string, CrdSchema>>

export function definitionText(kind: DefinedKind): string {
  const text = readText(`crds/${DEFINITIONS[kind]}.yaml`)
  if (kind === 'Tenant') return filled(text, 'limits', tenantLimits())
  return kind === 'Template' ? filled(text, 'options', templateOptions()) : text
}

function filled(text: string, name: string, properties: Properties): string {
  const marked = new RegExp(`^( *)(# ${name}: made .*\\n)[^]*?^ *(# end of ${name}\\n)`, 'm').exec(text)
  if (marked === null) throw new Error(`nothing is marked as ${name}`)
  const [old, indent, begin = '', end = ''] = marked
  const lines = [begin, ...yamlOf(properties).split(/(?<=\n)/), end].map((line) => `${indent}${line}`)
  return text.replace(old, () => lines.join(''))
}

/** YAML as it is written by hand: lists of words and what stands in a list of alternatives in one line. */
function yamlOf(properties: Properties): string {
  const document = new Document(properties)
  visit(document, {
    Pair(_at, { key, value }) {
      if (!isCollection(value)) return
      if (['required', 'enum', 'not'].includes(String(key))) value.flow = true
      if (String(key) === 'anyOf') for (const item of value.items) if (isCollection(item)) item.flow = true
    },
  })
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false })
}

/** The limits that a plan may set. */
export function planLimits(): Properties {
  const { displayName: _displayName, ...limits } = readDefinition('Plan').spec.properties ?? {}
  return limits
}

/** What a plan says of each limit, said of one tenant, whose plan may set it as well. */
function tenantLimits(): Properties {
  // An override that nobody sets must stay absent, so it has no default.
  const ofTenant = (text: string) =>
    text
      .replaceAll(/\ba tenant\b/g, 'the tenant')
      .replace(/\b(Default is|If absent,) (?=[^.]*\.$)/, 'If neither plan nor tenant sets it, ')
  return Object.fromEntries(
    Object.entries(planLimits()).map(([name, { description = '', default: _default, ...limit }]) => [
      name,
      { description: ofTenant(description), ...limit },
    ]),
  )
}

function templateOptions(): Properties {
  const all: Readonly<Record<keyof typeof TEMPLATE_OPTION_TEXTS, Option>> = templateOptionsSchema.properties
  return Object.fromEntries(
    Object.entries(TEMPLATE_OPTION_TEXTS).map(([name, description]) => {
      // The keys of both are options.
      return [name, { description, ...definitionOf(all[name as keyof typeof TEMPLATE_OPTION_TEXTS]) }]
    }),
  )
}

/** A value, or a value or a mapping. */
interface Option {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Option>>
  readonly anyOf?: readonly [value: Option, mapping: Option]
  readonly [keyword: string]: unknown
}

/** The schema of an option, in the keywords that a definition has. */
function definitionOf({ anyOf, ...option }: Option): CrdSchema {
  if (anyOf === undefined) return Array.isArray(option.type) ? { ...anyTypeOf(option), ...NO_MAPPING } : plain(option)
  const [value, { properties: fields = {} }] = anyOf
  // Fields of the same schema have the same object, which YAML repeats by an alias.
  const once = new Map<Option, CrdSchema>()
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const made = once.get(field) ?? {
        description: field.description ?? 'In points. Both sides are required.',
        ...definitionOf(field),
      }
      once.set(field, made)
      return [name, made]
    }),
  )
  const names = Object.keys(fields)
  if (value.enum === undefined) return { ...anyTypeOf(value), properties, anyOf: subsetsOf(names).map(only) }
  const mapping = { ...only(names), ...noWordOrList(), ...NO_TEXT_OR_NUMBER }
  return { ...ANY_TYPE, properties, anyOf: [{ enum: value.enum }, mapping] }
}

/** A definition has no type for what may be of several. So what it must not be is said by bounds that nothing meets. */
const ANY_TYPE = { 'x-kubernetes-preserve-unknown-fields': true } as const
const NO_MAPPING = { minProperties: 1, maxProperties: 0 }
const NO_TEXT_OR_NUMBER = { minLength: 1, maxLength: 0, minimum: 1, maximum: 0 }

/** Another object each time, so that YAML has no alias for it. */
function noWordOrList(): CrdSchema {
  return { not: { enum: [true, false, null] }, minItems: 1, maxItems: 0 }
}

function anyTypeOf(option: Option): CrdSchema {
  const { type: _type, ...bounds } = plain(option)
  return { ...ANY_TYPE, ...noWordOrList(), ...bounds }
}

/** Without the texts, and with digits spelt as the API server reads them too. */
function plain({ description: _description, title: _title, pattern, ...option }: Option): CrdSchema {
  // It has one type, or none that is kept.
  return { ...option, ...(pattern !== undefined && { pattern: pattern.replaceAll('\\d', '[0-9]') }) } as CrdSchema
}

function subsetsOf(names: readonly string[]): readonly (readonly string[])[] {
  return names.reduce<readonly (readonly string[])[]>(
    (subsets, name) => [...subsets, ...subsets.map((subset) => [...subset, name])],
    [[]],
  )
}

/** A mapping with exactly these fields. */
function only(names: readonly string[]): CrdSchema {
  return { maxProperties: names.length, ...(names.length > 0 && { required: names }) }
}
