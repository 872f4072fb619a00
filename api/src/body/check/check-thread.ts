/** The code of a check thread. It runs one task after the other. */
import { ServiceError } from '@platen/contract/error.ts'
import { openFitCheck } from './fit.ts'
import { type ParsedAnswer, type ParseTask, parseRequest } from './parse-request.ts'

export const fit = openFitCheck()

export function parse(task: ParseTask): ParsedAnswer {
  try {
    return { request: parseRequest(task) }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { code, reason, message, details } = error
    return { refusal: { code, reason, message, details } }
  }
}
