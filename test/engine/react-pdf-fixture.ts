/** Work for the react_pdf engine: a whole template from the part a test is about. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '@platen/contract/brand.ts'
import type { RenderOptions } from '@platen/contract/render.ts'
import type { TemplateCode, TemplateDigest, TenantId } from '@platen/contract/tenant.ts'
import type { RenderWork } from '@platen/renderer/engine/engine.ts'
import { aRenderId } from '../fixture/build.ts'

export interface WorkFields {
  /** The whole module. */
  readonly source?: string
  /** What stands in the document, in a module that imports every common primitive and has `Rows`. */
  readonly document?: string
  readonly data?: JsonObject
  readonly options?: RenderOptions
}

/** A document of one page with one word, unless said otherwise. */
export function aWork({ document = '<Page><Text>word</Text></Page>', ...fields }: WorkFields = {}): RenderWork {
  const reactPdf = fields.source ?? moduleOf(document)
  return {
    render: aRenderId(),
    // Brands are put on by what validates input; fixtures are valid by being written here.
    tenant: 'acme' as TenantId,
    digest: createHash('sha256').update(reactPdf).digest('hex') as TemplateDigest,
    template: { code: 'invoice' as TemplateCode, name: 'Invoice', version: 3, reactPdf, options: {} },
    data: fields.data ?? {},
    options: fields.options ?? {},
  }
}

function moduleOf(document: string): string {
  return `import { Document, Page, View, Text, Image, Link, Note, Svg, Rect, StyleSheet } from '@react-pdf/renderer'
const Rows = ({ count }) => Array.from({ length: count }, (_, row) => <Text key={row} style={{ fontSize: 14 }}>row-{row}-end</Text>)
export default ({ data, options }) => <Document>${document}</Document>`
}

/** A page of a text as \`pdftotext\` gives it, one per form feed. */
export function pagesOf(text: string): readonly string[] {
  return text.split('\f').slice(0, -1)
}
