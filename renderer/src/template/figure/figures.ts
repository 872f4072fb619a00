/** The figures that templates draw by name: elements in react_pdf, tags in html. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { CHART_PROPERTIES, chart } from './chart.ts'
import { BARCODE_PROPERTIES, barcode, QR_PROPERTIES, qrCode } from './code.ts'
import { type Figure, type Properties, propertiesOf } from './figure.ts'
import { PAYMENT_PROPERTIES, paymentCode } from './payment.ts'

interface FigureKind {
  readonly tag: string
  /** The first property in a tag, written without its name. */
  readonly first?: string
  readonly properties: ReadonlySet<string>
  readonly draw: (properties: Properties, locale: string | undefined) => Figure
}

/** By the name of the element in react_pdf. */
export const FIGURES = {
  QrCode: { tag: 'qrcode', first: 'value', properties: QR_PROPERTIES, draw: qrCode },
  Barcode: { tag: 'barcode', first: 'value', properties: BARCODE_PROPERTIES, draw: barcode },
  PaymentCode: { tag: 'paymentcode', properties: PAYMENT_PROPERTIES, draw: paymentCode },
  Chart: { tag: 'chart', first: 'data', properties: CHART_PROPERTIES, draw: chart },
} as const satisfies Record<string, FigureKind>

export type FigureName = keyof typeof FIGURES

export function isFigureName(name: string): name is FigureName {
  return Object.hasOwn(FIGURES, name)
}

export const FIGURE_MODULE = '@platen/template'

/** `values` are untrusted. Throws `FigureFault`. */
export function drawFigure(name: FigureName, values: JsonObject, locale: string | undefined): Figure {
  const kind: FigureKind = FIGURES[name]
  return kind.draw(propertiesOf(values), locale)
}
