/** The react_pdf engine for the tests of a file, and work for it: a whole template from the part a test is about. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openReactPdfEngine } from '@platen/renderer/engine/react-pdf.ts'
import { openThreadPool } from '@platen/renderer/engine/thread-pool.ts'
import type { RenderEngine, RenderWork } from '@platen/renderer/port/engine.ts'
import { afterAll } from 'vitest'
import { aRenderWork, type RenderWorkFields } from '../../fixture/render/work.ts'

/** An engine with one thread, which ends after the tests of the file. */
export function aReactPdfEngine(): RenderEngine {
  const pool = openThreadPool({ size: 1, clock: systemClock() })
  afterAll(() => pool[Symbol.asyncDispose]())
  return openReactPdfEngine({ pool, slots: 1 })
}

export interface WorkFields extends RenderWorkFields {
  /** The whole module. */
  readonly source?: string
  /** What is in the document, in a module that imports every common primitive and has `Rows`. */
  readonly document?: string
}

/** A document of one page with one word, unless said otherwise. */
export function aWork({ document = '<Page><Text>word</Text></Page>', source, ...fields }: WorkFields = {}): RenderWork {
  return aRenderWork({ ...fields, template: { reactPdf: source ?? moduleOf(document), ...fields.template } })
}

function moduleOf(document: string): string {
  return `import { Document, Page, View, Text, Image, Link, Note, Svg, Rect, G, Line, FieldSet, TextInput, ImageBackground, StyleSheet } from '@react-pdf/renderer'
const Rows = ({ count }) => Array.from({ length: count }, (_, row) => <Text key={row} style={{ fontSize: 14 }}>row-{row}-end</Text>)
export default ({ data, options }) => <Document>${document}</Document>`
}

/** A page of a text as \`pdftotext\` gives it, one per form feed. */
export function pagesOf(text: string): readonly string[] {
  return text.split('\f').slice(0, -1)
}
