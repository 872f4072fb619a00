/** The log of a service: one JSON object a line on standard error, so that standard output stays free for answers. */
import type { Log } from '@platen/contract/port/log.ts'
import { pino } from 'pino'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const STDERR = 2

/**
 * A log from `level` up, into an open file. Nobody should log credentials; should a whole request be logged one day, they still
 * show as `[redacted]`. Lines are written at once: the last words of a dying process are the ones that matter.
 */
export function openLog(level: LogLevel, fd = STDERR): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_PATHS, censor: '[redacted]' },
    },
    pino.destination({ dest: fd, sync: true }),
  )
}

const SECRET_FIELDS = ['authorization', 'Authorization', 'cookie', 'secret', 'token']
const SECRET_PATHS = ['', '*.', '*.*.'].flatMap((parent) => SECRET_FIELDS.map((field) => `${parent}${field}`))
