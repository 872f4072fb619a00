/**
 * Reads the settings of a process from its environment, for every deployable and the command line. Each has one table of its settings; the
 * type of its configuration, the faults and the documentation come from that table. All faults are reported together. They name settings,
 * and never their values. A secret may be in a file, which `follow.ts` reads again.
 */
import { readFileSync, statSync } from 'node:fs'
import type { Format } from './format.ts'

const KIB = 1024
/** Kubernetes allows a Secret of 1 MiB; no value here needs more than a few hundred bytes. */
const SECRET_FILE_BYTES_MAX = 64 * KIB

/** An empty variable counts as absent. */
export type Variables = Readonly<Record<string, string | undefined>>

/** `message` names each fault, one per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface SettingEntry {
  readonly name: string
  readonly default: string
  readonly description: string
  /** Must the value be kept from readers of the manifests of a process? Then it may also be in the file that `fileNameOf` names. */
  readonly isSecret: boolean
}

/** Returns the name of the setting for the file of a secret, such as `PLATEN_SEAL_KEY_FILE`. */
export function fileNameOf({ name }: Pick<SettingEntry, 'name'>): string {
  return `${name}_FILE`
}

/** One or more settings, and how to read their value. */
export interface Settings<Value> {
  /** In the order of the documentation. */
  readonly entries: readonly SettingEntry[]
  /** Throws `ConfigError` with all faults. */
  readonly read: (variables: Variables) => Value
}

export type ValueOf<Read> = Read extends Settings<infer Value> ? Value : never

/** Settings by the fields that hold their values. */
type Fields = Readonly<Record<string, Settings<unknown>>>

export type ValuesOf<Table extends Fields> = { readonly [Field in keyof Table]: ValueOf<Table[Field]> }

interface SettingOptions<Absent> {
  /** Parsed like a given value; with `absent`, only describes the default. A setting without a default is required. */
  readonly default?: string
  /** Returns the value of an absent setting, for a default that cannot be written as text. */
  readonly absent?: () => Absent
  readonly description: string
  readonly isSecret?: true
}

export function setting<Value, Absent = never>(
  name: string,
  format: Format<Value>,
  options: SettingOptions<Absent>,
  // Without NoInfer, the table around it, whose values may have any type, would determine `Absent`.
): Settings<Value | NoInfer<Absent>> {
  const { absent, description, isSecret = false } = options
  const entry: SettingEntry = { name, default: options.default ?? 'required', description, isSecret }
  return {
    entries: [entry],
    read(variables) {
      const given = isSecret ? readSecret(entry, variables) : variables[name] || undefined
      if (given === undefined && absent !== undefined) return absent()
      const text = given ?? options.default
      if (text === undefined) throw new ConfigError(`${name} is missing: it must be ${format.wanted}`)
      const value = format.parse(text)
      if (value === undefined) throw new ConfigError(`${name} must be ${format.wanted}`)
      return value
    },
  }
}

/** From its variable, or from its file without the last line end. */
function readSecret(entry: SettingEntry, variables: Variables): string | undefined {
  const [value, path] = [variables[entry.name] || undefined, variables[fileNameOf(entry)] || undefined]
  if (path === undefined) return value
  if (value !== undefined) throw new ConfigError(`${entry.name} and ${fileNameOf(entry)} are both set: set one of them`)
  try {
    const { size } = statSync(path)
    if (size === 0 || size > SECRET_FILE_BYTES_MAX)
      throw new ConfigError(`${fileNameOf(entry)} must name a file of 1 to ${SECRET_FILE_BYTES_MAX} bytes`)
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (cause) {
    if (cause instanceof ConfigError || !(cause instanceof Error && 'code' in cause)) throw cause
    throw new ConfigError(`${fileNameOf(entry)} names a file that cannot be read (${String(cause.code)})`, { cause })
  }
}

/** `default` describes what holds if the setting is absent. */
export function optional<Value>(
  name: string,
  format: Format<Value>,
  options: Omit<SettingOptions<undefined>, 'absent'> & { readonly default: string },
): Settings<Value | undefined> {
  return setting(name, format, { ...options, absent: () => undefined })
}

/**
 * Reads settings to one frozen object. `faultsOf` returns the faults that involve several settings, with `false` for rules that are kept.
 * It gets undefined for fields that are absent or wrong by themselves.
 */
export function table<Table extends Fields>(
  fields: Table,
  faultsOf: (values: Partial<ValuesOf<Table>>) => readonly (string | false)[] = () => [],
): Settings<ValuesOf<Table>> {
  return {
    entries: Object.values(fields).flatMap(({ entries }) => entries),
    read(variables) {
      const faults: string[] = []
      const read = Object.entries(fields).flatMap(([field, settings]) => {
        try {
          return [[field, settings.read(variables)]]
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error
          faults.push(error.message)
          return []
        }
      })
      // A wrong field is missing, and then this throws.
      const values = Object.freeze(Object.fromEntries(read)) as ValuesOf<Table>
      faults.push(...faultsOf(values).filter((fault) => fault !== false))
      if (faults.length > 0) throw new ConfigError(faults.join('\n'))
      return values
    },
  }
}

export function mapped<From, To>({ entries, read }: Settings<From>, map: (value: From) => To): Settings<Readonly<To>> {
  return { entries, read: (variables) => Object.freeze(map(read(variables))) }
}

/** Returns unknown names that look like settings: most likely mistyped. */
export function unknownSettings(variables: Variables, { entries }: Settings<unknown>): readonly string[] {
  const known = new Set(entries.flatMap((entry) => [entry.name, ...(entry.isSecret ? [fileNameOf(entry)] : [])]))
  return Object.keys(variables).filter((name) => name.startsWith('PLATEN_') && !known.has(name))
}
