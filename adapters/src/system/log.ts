/** The log of a service: one JSON object a line on standard error, so that standard output stays free for answers. */
import type { Writable } from 'node:stream'
import type { Log } from '@platen/contract/port/log.ts'
import { pino } from 'pino'
import { type LogOutput, openLogOutput } from './log-output.ts'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface ServiceLog extends Log, Pick<LogOutput, 'droppedLines'> {}

/**
 * A log from `level` up. Nobody should log credentials; should a whole request be logged one day, they still show as `[redacted]`.
 * Lines are written at once while somebody reads them: the last words of a dying process are the ones that matter.
 */
export function openLog(level: LogLevel, stream: Writable = process.stderr): ServiceLog {
  // An error, so that it is written whatever the level.
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
