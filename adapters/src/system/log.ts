/** The log of a service: one JSON object per line on standard error, so that standard output is free for results. */
import { hostname } from 'node:os'
import type { Writable } from 'node:stream'
import { inspect } from 'node:util'
import type { Log } from '@platen/lib/log.ts'
import { pino, stdSerializers } from 'pino'
import { installedVersion } from '../version.ts'
import { type LogOutput, openLogOutput } from './log-output.ts'
import { readableLine } from './readable-line.ts'

type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'silent'

export interface ServiceLog extends Log, Pick<LogOutput, 'droppedLines'> {}

interface LogOptions {
  readonly level: LogLevel
  /** The name of the deployable, as in metrics: `api`. In each line. */
  readonly process: string
  /** Distinguishes several such processes. In each line. */
  readonly instance?: string
  readonly stream?: Writable & { readonly isTTY?: boolean }
}

/** Several processes may be on one host; in a pod, the host is named after the pod. */
export function instanceName(): string {
  return `${hostname()}-${process.pid}`
}

/** Characters of the message, and of the stack, of an error in a line. */
const ERROR_CHARS_MAX = 8192

/**
 * A person at a terminal gets the lines as text, since JSON with a stack in it is not readable there; everybody else gets JSON. Nobody
 * should log credentials; if a complete request is logged, they show as `[redacted]`. Lines are written at once, since the last lines of a
 * dying process matter most.
 */
export function openLog({
  level,
  process: name,
  instance = instanceName(),
  stream = process.stderr,
}: LogOptions): ServiceLog {
  // An error, so that it is written at every level.
  const output = openLogOutput(stream, (lines) => log.error({ lines }, 'log lines dropped'))
  const terminal = { write: (line: string) => output.write(readableLine(line)) }
  const log = pino(
    {
      level,
      base: { process: name, version: installedVersion(), instance },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_PATHS, censor: '[redacted]' },
      serializers: { err: errorFields },
    },
    stream.isTTY === true ? terminal : output,
  )
  return Object.assign(log, { droppedLines: () => output.droppedLines() })
}

const SECRET_FIELDS = ['authorization', 'Authorization', 'cookie', 'secret', 'token']
const SECRET_PATHS = ['', '*.', '*.*.'].flatMap((parent) => SECRET_FIELDS.map((field) => `${parent}${field}`))

/**
 * Shows only these fields of an error: libraries add others, and some are secret. An error of ioredis has the refused command with its
 * arguments, which are a password or a value.
 */
function errorFields(error: unknown): unknown {
  if (error === undefined) return undefined
  if (!(error instanceof Error)) return { message: bounded(typeof error === 'string' ? error : inspect(error)) }
  const { type, message, stack } = stdSerializers.err(error)
  // When no address of a host answers, Node's error has no message, but one error for each address.
  const parts = error instanceof AggregateError ? error.errors.map((part) => String(part)) : []
  const full = [message, ...parts].filter((text) => text !== '').join('; ')
  return { type, message: bounded(full), code: 'code' in error ? error.code : undefined, stack: bounded(stack ?? '') }
}

function bounded(text: string): string {
  return text.length <= ERROR_CHARS_MAX ? text : `${text.slice(0, ERROR_CHARS_MAX)}…`
}
