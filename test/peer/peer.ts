/** How another product becomes a contender: as a process in a folder of its own, asked over HTTP as its users ask it. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { writeFontConfig } from '@platen/renderer/browser/font-config.ts'
import { type Contender, timed } from '../bench/measure.ts'
import { killIfThere, processesWith } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { freePorts } from '../topology/server/port.ts'
import { installed } from './install.ts'

/** Documents that each contender makes at a time: one for each of two cores. */
export const SLOTS = 2

/** The browser of the service, or the full one that the others come with. */
export type Browser = 'shell' | 'full'

export interface Peer {
  /** Key of its results, and what `PEERS` selects. */
  readonly name: string
  readonly title: string
  /** Absent if it has none. */
  readonly browser?: Browser
  start(): Promise<Contender>
}

export interface Program {
  readonly command: readonly [file: string, ...args: string[]]
  readonly env?: Readonly<Record<string, string>>
  /** Answers 200 when it is ready. */
  readonly readyPath: string
  readonly path: string
  readonly request: (rows: number) => RequestInit
}

const LOG_CHARACTERS_MAX = 2000

/** Starts a program with the fonts of the service, so that all print the same. Throws with its output if it ends instead. */
export async function startProgram(
  programIn: (place: { port: number; folder: string }) => Program,
): Promise<Contender> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-peer-'))
  const port = await freePorts(1)
  const { command, env, readyPath, path, request } = programIn({ port, folder })
  const running = spawnIn(folder, command, { ...env, FONTCONFIG_FILE: await writeFontConfig(join(folder, 'font')) })
  const url = `http://127.0.0.1:${port}`
  const state = async () => {
    if (running.hasEnded()) return 'ended'
    return await fetch(`${url}${readyPath}`).then(
      ({ status }) => (status === 200 ? 'ready' : 'starting'),
      () => 'starting',
    )
  }
  if ((await poll(state).until((reached) => reached !== 'starting')) === 'ended') {
    await running.stop()
    throw new Error(`it ended instead of starting: ${running.log()}`)
  }
  return {
    pids: [running.pid],
    async run({ rows, ...batch }) {
      const init = request(rows)
      return await timed(batch, async () => {
        const answer = await fetch(`${url}${path}`, { method: 'POST', ...init }).catch((cause: unknown) => {
          throw new Error(`${command.join(' ')} no longer answers; its log: ${running.log()}`, { cause })
        })
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status}: ${await answer.text()}`)
        return new Uint8Array(await answer.arrayBuffer())
      })
    },
    [Symbol.asyncDispose]: running.stop,
  }
}

function spawnIn(folder: string, [file, ...args]: Program['command'], env: Record<string, string>) {
  const child = spawn(file, args, {
    cwd: folder,
    // Its processes are found by this folder.
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', HOME: folder, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  const keep = (text: string) => {
    log = `${log}${text}`.slice(-LOG_CHARACTERS_MAX)
  }
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', keep)
  let hasEnded = false
  child.once('exit', (code, signal) => {
    hasEnded = true
    keep(`\nended with ${signal ?? code}`)
  })
  child.once('error', ({ message }) => {
    hasEnded = true
    keep(message)
  })
  const closed = new Promise((resolve) => {
    child.once('close', resolve)
  })
  return {
    pid: child.pid ?? 0,
    hasEnded: () => hasEnded,
    log: () => log.trim(),
    // Nothing is asked to end: some leave browsers behind, and Gotenberg ends those of others.
    stop: async () => {
      await poll(() => processesWith(folder).map(({ pid }) => killIfThere(pid))).until((killed) => killed.length === 0)
      // Now the log is complete.
      await closed
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** The path of a browser, which is installed if it is the full one. */
export async function executableOf(browser: Browser): Promise<string> {
  if (browser === 'full') return join(installed('chromium'), 'usr/lib/chromium/chromium')
  const path = await findChromium({})
  if (path === undefined) throw new Error('there is no Chromium here: make test installs it')
  return path
}
