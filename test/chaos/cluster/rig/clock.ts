/** Sets the wall clocks of running processes with Debian's libfaketime. Monotonic clocks are not changed. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Clocks {
  /** Environment that gives a process its own clock. */
  settingsOf(name: string): Readonly<Record<string, string>>
  /** Shifts the clock of processes by `seconds`, with effect within a second. Undefined when the library is missing. */
  readonly shift: ((name: string, seconds: number) => Promise<void>) | undefined
}

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

/** Opens clocks that show the right time at first. Their files are in `folder`. */
export async function openClocks(folder: string): Promise<Clocks> {
  if (LIBRARY === undefined) return { settingsOf: () => ({}), shift: undefined }
  const fileOf = (name: string) => join(folder, `${name}.clock`)
  return {
    settingsOf: (name) => ({
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: fileOf(name),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }),
    shift: (name, seconds) => writeFile(fileOf(name), `${seconds < 0 ? '' : '+'}${seconds}\n`),
  }
}
