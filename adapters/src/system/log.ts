/** The log of a service: one JSON object per line on standard error, so that standard output is free for results. */
import type { Writable } from 'node:stream'
import type { Log } from '@platen/contract/port/log.ts'
import { pino } from 'pino'
import { type LogOutput, openLogOutput } from './log-output.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface ServiceLog extends Log, Pick<LogOutput, 'droppedLines'> {}

/**
 * Makes a log from `level` up. Nobody should log credentials; if a complete request is logged one day, they show as `[redacted]`. Lines are
 * written at once while somebody reads them, as the last lines of a dying process matter most.
 */
export function openLog(level: LogLevel, stream: Writable = process.stderr): ServiceLog {
  // An error, so that it is written at every level.
  const output = openLogOutput(stream, (lines) => log.error({ lines }, 'log lines dropped'))
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_PATHS, censor: '[redacted]' },
    },
    output,
  )
  return Object.assign(log, { droppedLines: () => output.droppedLines() })
}

const SECRET_FIELDS = ['authorization', 'Authorization', 'cookie', 'secret', 'token']
const SECRET_PATHS = ['', '*.', '*.*.'].flatMap((parent) => SECRET_FIELDS.map((field) => `${parent}${field}`))
