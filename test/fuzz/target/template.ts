/** Sources and data, in both engines. */
import type { JsonObject } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { aRenderWork } from '../../fixture/render/work.ts'
import { html } from '../generate/html.ts'
import { object } from '../generate/json.ts'
import { tsx } from '../generate/tsx.ts'
import { targetOf } from '../target.ts'
import { openDocuments } from './document.ts'

interface Tsx {
  readonly source: string
  readonly data: JsonObject
}

export const reactPdf = targetOf<Tsx>({
  name: 'react_pdf',
  inputs: fc.record({ source: tsx, data: object }),
  open: () => openDocuments('react_pdf', ({ source, data }) => aRenderWork({ template: { reactPdf: source }, data })),
})

interface Html {
  readonly template: string
  readonly header?: string | undefined
  readonly footer?: string | undefined
  readonly javascript: boolean
  readonly data: JsonObject
}

export const liquid = targetOf<Html>({
  name: 'html',
  inputs: fc.tuple(html, object, fc.boolean()).map(([parts, data, javascript]) => ({ ...parts, data, javascript })),
  open: () =>
    openDocuments('html', ({ template, header, footer, javascript, data }) => {
      const edges = { ...(header !== undefined && { header }), ...(footer !== undefined && { footer }) }
      return aRenderWork({
        template: { html: { template, javascript, ...edges } },
        data,
        javascriptEnabled: javascript,
      })
    }),
})
