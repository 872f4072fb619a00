/** react-pdf as its documentation has it: a component, `renderToBuffer`, nothing else. Argument: `fast` for its fast pagination. */
import { createRequire } from 'node:module'
import { compileFunction } from 'node:vm'
import { renderToBuffer } from '@react-pdf/renderer'
import { createElement, type FunctionComponent } from 'react'
import { transform } from 'sucrase'
import { serve } from '../child.ts'
import { invoiceData, TSX } from '../invoice.ts'
import { timed } from '../measure.ts'

const isFast = process.argv[2] === 'fast'
const { code } = transform(isFast ? TSX.replace('<Page ', '<Page experimentalPagination ') : TSX, {
  transforms: ['typescript', 'jsx', 'imports'],
  jsxRuntime: 'automatic',
  production: true,
})
const module: { exports: { default?: FunctionComponent<{ data: unknown }> } } = { exports: {} }
compileFunction(code, ['require', 'module', 'exports'])(createRequire(import.meta.url), module, module.exports)
const component = module.exports.default
if (component === undefined) throw new Error('the invoice is a component')

serve(async ({ rows, ...batch }) => {
  const data = invoiceData(rows)
  return await timed(batch, async () => {
    const element = createElement(component, { data }) as unknown as Parameters<typeof renderToBuffer>[0]
    return new Uint8Array(await renderToBuffer(element))
  })
})
