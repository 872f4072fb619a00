import { type TemplateDetail, templateDetailSchema } from '@platen/contract/schema/template-detail.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function getTemplateSchema(): object {
  return {
    operationId: 'getTemplate',
    tags: ['template'],
    summary: 'Get a template with its engines, options and sample',
    description: 'Units and engines are those of this key: they depend on its plan and environment.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { code: { type: 'string', description: 'Template code.' } } },
    response: {
      200: {
        description: 'The template as a render with this key would use it now.',
        headers: COMMON_HEADERS,
        ...templateDetailSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getTemplate'),
    },
  }
}

const EXAMPLE: TemplateDetail = {
  code: 'invoice',
  name: 'Invoice',
  version: 3,
  engine: 'react_pdf',
  engines: [
    { engine: 'react_pdf', units: 1, in_plan: true },
    { engine: 'html', units: 25, in_plan: false },
  ],
  options: { orientation: 'landscape' },
  variables_schema: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } },
  sample: { number: '2026-0042' },
}
