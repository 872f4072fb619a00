/** Clocks of processes that can be set while they run, by Debian's libfaketime; what measures durations goes on as it is. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Clocks {
  /** What has a process go by its own clock. */
  settingsOf(name: string): Readonly<Record<string, string>>
  /** Sets the clock of processes so many seconds off, within a second; undefined where the library is missing. */
  readonly shift: ((name: string, seconds: number) => Promise<void>) | undefined
}

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path))

/** Clocks that are right at first, kept in a folder. */
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
