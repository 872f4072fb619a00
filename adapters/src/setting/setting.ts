/**
 * Reads the settings of a process from its environment; every deployable and the command line use it. It reads them once, at start, and
 * reports all faults together. Faults name settings, and never their values. Each part has a table of its settings, from which the
 * documentation is made.
 */
import assert from 'node:assert/strict'

/** One setting, as docs/operations.md shows it. */
export interface Setting {
  readonly default: string
  readonly description: string
}

/** The settings of a part or a process, by name. */
export type SettingTable = Readonly<Record<string, Setting>>

/** Environment variables. An empty one counts as absent. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Settings are wrong. `message` names each fault, one per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads settings with these names, and collects their faults. */
export interface SettingReader<Name extends string> {
  /** Returns the value; undefined if the setting is absent, or if it is not `wanted`, which is recorded as a fault. */
  readonly read: ReadSetting<Name>
  /** Like `read`, but an absent setting is a fault. */
  readonly require: ReadSetting<Name>
  /** Records a fault that involves several settings. */
  readonly refuse: (fault: string) => void
}

/** `wanted` describes valid values, for the person who must fix the setting. */
type ReadSetting<Name extends string> = <Value>(
  name: Name,
  parse: (text: string) => Value | undefined,
  wanted: string,
) => Value | undefined

/** Returns the result of `body`, which may be undefined if there is a fault. Throws `ConfigError` with all faults. */
export function readSettings<Config>(
  variables: Variables,
  body: (reader: SettingReader<string>) => Config | undefined,
): Config {
  const faults: string[] = []
  const refuse = (fault: string) => void faults.push(fault)
  const read: ReadSetting<string> = (name, parse, wanted) => {
    const text = variables[name]
    if (text === undefined || text === '') return undefined
    const value = parse(text)
    if (value === undefined) refuse(`${name} must be ${wanted}`)
    return value
  }
  const require: ReadSetting<string> = (name, parse, wanted) => {
    if (!variables[name]) refuse(`${name} is missing: it must be ${wanted}`)
    return read(name, parse, wanted)
  }
  const config = body({ read, require, refuse })
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  assert(config !== undefined, 'settings without a fault are whole')
  return config
}

/** Returns names that look like settings and are unknown: most likely misspelt. */
export function unknownSettings(variables: Variables, known: SettingTable): readonly string[] {
  return Object.keys(variables).filter((name) => name.startsWith('PLATEN_') && !Object.hasOwn(known, name))
}
