/**
 * Notices variables that a source prints and that have no value. Liquid prints nothing for them, which hides a mistyped name. What a source
 * only asks for (`if`), or prints with the filter `default`, may be absent.
 */
import { suggestion } from '@platen/contract/suggestion.ts'
import type { Warning } from '@platen/contract/warning.ts'
import { type Context, EchoTag, Output, type Template, TypeGuards, Value } from 'liquidjs'
import { shortened } from './path.ts'
import { walkLiquid } from './walk.ts'

/** Variables named of one document. */
const ABSENT_MAX = 20
/** Fields among which a similar name is looked for. */
const FIELDS_MAX = 200

/** Begins a document. From now on adds a warning to `warnings` for each place that prints no value. */
export type WatchAbsent = (warnings: Warning[]) => void

/** Changes the parsed source `name`, so that it can be watched, one document after the other. */
export function absentWatcher(templates: readonly Template[], name: string): WatchAbsent {
  const watched: Watched = { warnings: [], reported: new Set() }
  walkLiquid(templates, (template) => {
    if (template instanceof Output || template instanceof EchoTag)
      for (const value of template.arguments()) if (value instanceof Value) watch(value, name, watched)
    return undefined
  })
  return (warnings) => {
    watched.warnings = warnings
    watched.reported.clear()
  }
}

/** Of the document that is filled. */
interface Watched {
  warnings: Warning[]
  /** The places with a warning. */
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
  // Liquid makes a generator for each part of a path. So this costs less than what it replaces.
  initial.evaluate = function* evaluate(context: Context): Generator<unknown, unknown> {
    return yield valueAt(context, keys, report)
  }
}

/** Reads a path as Liquid does. Tells `report` what has no such key. */
function valueAt(
  context: Context,
  keys: readonly (string | number)[],
  report: (parent: unknown, key: string | number) => void,
): unknown {
  // Private in its types; its public methods do not say where a path ends.
  let value: unknown = context['findScope'](String(keys[0]))
  for (const [index, key] of keys.entries()) {
    const parent = value
    // Liquid's type is narrower than what it reads.
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
