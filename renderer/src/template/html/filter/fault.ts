import type { FilterImplOptions } from 'liquidjs'

export type Filter = Extract<FilterImplOptions, (...values: never[]) => unknown>
export type FilterThis = ThisParameterType<Filter>

/** Its message quotes no value, because messages are shown and stored, and a value may be personal data. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
}

export function isNothing(value: unknown): value is null | undefined | '' {
  return value === null || value === undefined || value === ''
}

export function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw new FilterError(`${what} must be a string`)
  return value
}

/** Replaces a `RangeError` by `reason`, because messages of `Intl` quote their input. */
export function made<Made>(reason: string, make: () => Made): Made {
  try {
    return make()
  } catch (cause) {
    if (cause instanceof RangeError) throw new FilterError(reason, { cause })
    throw cause
  }
}

export const LOCALE_DEFAULT = 'en-US'

/**
 * The locales for `Intl`, which silently replaces an unknown one by that of the machine. A template's own locale may be unknown to it,
 * because hyphenation knows others. One that a filter names must be known: `short` looks like a tag, but is a style in the wrong place.
 */
export function localesOf(named: unknown, own: string): string[] {
  if (isNothing(named) || named === own) return [own, LOCALE_DEFAULT]
  const tag = textOf(named, 'the locale')
  const known = made('the locale must be a tag such as en-US', () => Intl.NumberFormat.supportedLocalesOf(tag))
  if (known.length === 0) throw new FilterError('there is no such locale: write a tag such as en-US')
  return [tag]
}
