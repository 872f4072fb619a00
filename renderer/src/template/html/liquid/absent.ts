/**
 * Finds printed variables without a value, or with a value that is no text. Liquid prints nothing for the first, which hides a mistyped
 * name, and `[object Object]` or `NaN` for the others. A variable may be absent in a condition (`if`), and with the filter `default`.
 */

import type { Warning } from '@platen/contract/domain/warning.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { type Context, EchoTag, Output, type Template, TypeGuards, Value } from 'liquidjs'
import { absentValue } from '../../absent-value.ts'
import { shortened } from './path.ts'
import { walkLiquid } from './walk.ts'

/** Warnings for one document. */
const ABSENT_MAX = 20
/** Fields that are searched for a similar name. */
const FIELDS_MAX = 200

/**
 * Begins a document. From then on adds a warning for each place that prints no value. `isLiteral` says whether the source or the data
 * contain a text.
 */
export type WatchAbsent = (warnings: Warning[], isLiteral: (text: string) => boolean) => void

/** Changes the parsed source `name` so that it is watched, one document at a time. */
export function absentWatcher(templates: readonly Template[], name: string): WatchAbsent {
  const watched: Watched = { warnings: [], isLiteral: () => true, reported: new Set() }
  walkLiquid(templates, (template) => {
    if (template instanceof Output || template instanceof EchoTag)
      for (const value of template.arguments()) {
        if (!(value instanceof Value)) continue
        watch(value, name, watched)
        watchText(template, value, { name, watched })
      }
    return undefined
  })
  return (warnings, isLiteral) => {
    watched.warnings = warnings
    watched.isLiteral = isLiteral
    watched.reported.clear()
  }
}

interface Watched {
  warnings: Warning[]
  isLiteral: (text: string) => boolean
  readonly reported: Set<Value>
}

function watch(place: Value, source: string, watched: Watched): void {
  const { initial, filters } = place
  const [path, ...others] = initial.postfix
  if (!TypeGuards.isPropertyAccessToken(path) || others.length > 0 || path.variable !== undefined) return
  if (filters.some((filter) => filter.name === 'default')) return
  const keys = path.props.flatMap((part) =>
    TypeGuards.isWordToken(part) || TypeGuards.isQuotedToken(part) || TypeGuards.isNumberToken(part)
      ? [part.content]
      : [],
  )
  if (keys.length < path.props.length) return
  const report = (parent: unknown, key: string | number) => {
    const { warnings, reported } = watched
    if (reported.has(place) || warnings.length >= ABSENT_MAX) return
    reported.add(place)
    const [line, column] = path.getPosition()
    const message = `there is no value for ${shortened(path.getText())}${suggestion(String(key), fieldsOf(parent, key))}`
    warnings.push({ code: 'variable_absent', place: `${source}:${line}:${column}`, message })
  }
  // Liquid makes a generator for each part of a path, so this costs less than what it replaces.
  initial.evaluate = function* evaluate(context: Context): Generator<unknown, unknown> {
    return yield valueAt(context, keys, report)
  }
}

interface Place {
  readonly name: string
  readonly watched: Watched
}

/** The last filter of an output escapes, and gets the value that is printed. An echo escapes by itself. `raw` prints an object as JSON. */
function watchText(template: Output | EchoTag, value: Value, { name, watched }: Place): void {
  const last = value.filters.at(-1)
  if (last?.raw === true) return
  const { token } = template
  const text = token.getText().replaceAll(/\s+/g, ' ')
  const report = (printed: string, what: string) => {
    const { warnings, reported } = watched
    if (reported.has(value) || warnings.length >= ABSENT_MAX) return
    reported.add(value)
    const [line, column] = token.getPosition()
    const message = `${shortened(text)} prints ${printed}${what}`
    warnings.push({ code: 'variable_absent', place: `${name}:${line}:${column}`, message })
  }
  const look = (printed: unknown) => {
    if (typeof printed === 'string') {
      const found = absentValue(printed, watched.isLiteral)
      if (found !== undefined) report(found, printed.trim() === found ? '' : ` in “${shortened(printed.trim())}”`)
    } else if (isObject(printed)) report('[object Object]', ': it is an object, so print one of its fields')
    else if (Number.isNaN(printed)) report('NaN', ': it is no number')
  }
  if (template instanceof EchoTag) {
    const evaluate = value.value.bind(value)
    value.value = function* echoed(context: Context, isLenient?: boolean): Generator<unknown, unknown> {
      const printed = yield* evaluate(context, isLenient)
      look(printed)
      return printed
    }
  } else if (last !== undefined) {
    const escape = last.render.bind(last)
    last.render = (printed, context) => {
      look(printed)
      return escape(printed, context)
    }
  }
}

/** Liquid prints `[object Object]` for it, or for one of its items. */
function isObject(value: unknown): boolean {
  if (Array.isArray(value)) return value.slice(0, FIELDS_MAX).some(isObject)
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** Reads a path as Liquid does. Reports the parent that lacks a key. */
function valueAt(
  context: Context,
  keys: readonly (string | number)[],
  report: (parent: unknown, key: string | number) => void,
): unknown {
  // Private in its types; its public methods do not say where a path ends.
  let value: unknown = context['findScope'](String(keys[0]))
  for (const [index, key] of keys.entries()) {
    const parent = value
    // Liquid reads more than its type says.
    value = context.readProperty(parent as object, key)
    if (value !== undefined) continue
    report(index === 0 ? context.getAll() : parent, key)
    return undefined
  }
  return value
}

function fieldsOf(value: unknown, absent: string | number): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const names = Object.keys(value)
  return names.length > FIELDS_MAX ? [] : names.filter((name) => name !== String(absent))
}
