/** The code of a check thread. It runs one task at a time. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { type ParseBatchTask, type ParsedBatch, parseBatch as parseBatchHere } from './parse-batch.ts'
import { type ParsedAnswer, type ParsedRequest, type ParseTask, parseRequest } from './parse-request.ts'
import { openDataValidation } from './validate.ts'

export const validate = openDataValidation()
export const validateBatch = validate.ofBatch

export function parse(task: ParseTask): ParsedAnswer<ParsedRequest> {
  return answerOf(() => parseRequest(task))
}

export function parseBatch(task: ParseBatchTask): ParsedAnswer<ParsedBatch> {
  return answerOf(() => parseBatchHere(task))
}

function answerOf<Request>(parsed: () => Request): ParsedAnswer<Request> {
  try {
    return { request: parsed() }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { code, reason, message, details } = error
    return { refusal: { code, reason, message, details } }
  }
}
