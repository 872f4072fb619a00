/**
 * What the environment tells a process, as every deployable and the command line read it: once, at start, and all faults together,
 * naming settings and never their values. Which settings there are, each says in a table of its own, from which the documentation
 * is made.
 */
import assert from 'node:assert/strict'

/** One setting, as docs/operations.md shows it. */
export interface Setting {
  readonly default: string
  readonly description: string
}

/** The settings of one part or process, by name. */
export type SettingTable = Readonly<Record<string, Setting>>

/** Environment variables. An empty one counts as absent. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Settings that are wrong: `message` names each, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads settings of these names, and remembers what is wrong with them. */
export interface SettingReader<Name extends string> {
  /** The value; undefined where the setting is absent or, which is kept as a fault, not what is `wanted`. */
  readonly read: ReadSetting<Name>
  /** As `read`, where it is a fault to be absent. */
  readonly require: ReadSetting<Name>
  /** Keeps a fault that lies in no setting alone. */
  readonly refuse: (fault: string) => void
}

/** Takes what the value is, in words, for whoever has to mend it. */
type ReadSetting<Name extends string> = <Value>(
  name: Name,
  parse: (text: string) => Value | undefined,
  wanted: string,
) => Value | undefined

/** What `body` makes of the settings. It may answer undefined where it has met a fault. Throws `ConfigError` naming every fault. */
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

/** Names that look like settings and are none: most likely misspelt. */
export function unknownSettings(variables: Variables, known: SettingTable): readonly string[] {
  return Object.keys(variables).filter((name) => name.startsWith('PLATEN_') && !Object.hasOwn(known, name))
}
