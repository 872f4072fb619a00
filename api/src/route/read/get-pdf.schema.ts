import { COMMON_HEADERS, type HeaderSchemas, KEY_REQUIRED, refusals } from '../../openapi.ts'

export const QUERY = {
  type: 'object',
  properties: {
    disposition: {
      type: 'string',
      enum: ['inline', 'attachment'],
      default: 'inline',
      description: 'Whether a browser shows the PDF or saves it.',
    },
  },
} as const

export function getPdfSchema(): object {
  const pdf = { 'application/pdf': { schema: { type: 'string', format: 'binary' } } }
  return {
    operationId: 'getPdf',
    tags: ['render'],
    summary: 'Get the PDF of a render',
    description: 'HEAD answers with the same headers. `Range`, `If-Range` and `If-None-Match` are those of RFC 9110.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { id: { type: 'string', description: 'The `render_id`.' } } },
    querystring: QUERY,
    headers: {
      type: 'object',
      properties: {
        range: { type: 'string', description: 'The bytes to send, such as `bytes=0-1023`: one range.' },
        'if-range': { type: 'string', description: 'An `ETag`. If it is of another PDF, `Range` is ignored.' },
        'if-none-match': { type: 'string', description: 'An `ETag`. If it is of this PDF, the answer is 304.' },
      },
    },
    response: {
      200: { description: 'The PDF.', headers: { ...COMMON_HEADERS, ...DOCUMENT }, content: pdf },
      206: {
        description: 'The part that `Range` asked for.',
        headers: {
          ...COMMON_HEADERS,
          ...DOCUMENT,
          'Content-Range': { type: 'string', description: 'Which bytes these are, and how many there are.' },
        },
        content: pdf,
      },
      304: { description: 'The caller has this PDF.', headers: { ...COMMON_HEADERS, ETag: ENTITY_TAG }, type: 'null' },
      ...refusals('getPdf', {
        RANGE_NOT_SATISFIABLE: { 'Content-Range': { type: 'string', description: 'How many bytes there are.' } },
      }),
    },
  }
}

const ENTITY_TAG = { type: 'string', description: 'SHA-256 of the PDF; `artifact_id` of the webhook.' } as const

const DOCUMENT: HeaderSchemas = {
  'Content-Disposition': { type: 'string', description: 'Has `options.filename`, or a generated file name.' },
  ETag: ENTITY_TAG,
  'Accept-Ranges': { type: 'string', description: '`bytes`.' },
}
