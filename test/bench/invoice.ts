/** The document that is measured: an invoice of any number of rows, for both engines and for the bare libraries under them. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { fillHtml } from '@platen/renderer/template/html/fill.ts'
import { aRenderWork } from '../fixture/render/work.ts'

export function invoiceData(rows: number): JsonObject & { readonly rows: readonly JsonObject[] } {
  return {
    number: '2026-0042',
    buyer: ['Nordwind Office Supplies', '12 Harbour Street', '20095 Hamburg'],
    rows: Array.from({ length: rows }, (_, at) => ({
      title: `Item ${at + 1}, as agreed in the framework contract`,
      quantity: (at % 7) + 1,
      price: 10 + (at % 13),
      amount: ((at % 7) + 1) * (10 + (at % 13)),
    })),
  }
}

/** Text that is on each page's last line but in no other place, for the check of what was measured. */
export const LAST_LINE = 'payable within thirty days'

export const TSX = `
import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

const styles = StyleSheet.create({
  page: { paddingTop: 40, paddingHorizontal: 40, paddingBottom: 60, fontSize: 9 },
  head: { flexDirection: 'row', borderBottomWidth: 1, borderBottomColor: '#333', paddingBottom: 4, fontWeight: 'bold' },
  row: { flexDirection: 'row', borderBottomWidth: 0.5, borderBottomColor: '#ccc', paddingVertical: 4 },
  title: { width: '55%' },
  cell: { width: '15%', textAlign: 'right' },
  foot: { position: 'absolute', bottom: 25, left: 40, right: 40, textAlign: 'center', fontSize: 8 },
})

export default function Invoice({ data }) {
  return (
    <Document title={'Invoice ' + data.number}>
      <Page size="A4" style={styles.page}>
        <Text style={{ fontSize: 18, marginBottom: 12 }}>Invoice {data.number}</Text>
        {data.buyer.map((line, at) => <Text key={at}>{line}</Text>)}
        <View style={[styles.head, { marginTop: 20 }]} fixed>
          <Text style={styles.title}>Item</Text>
          <Text style={styles.cell}>Quantity</Text>
          <Text style={styles.cell}>Price</Text>
          <Text style={styles.cell}>Amount</Text>
        </View>
        {data.rows.map((row, at) => (
          <View key={at} style={styles.row} wrap={false}>
            <Text style={styles.title}>{row.title}</Text>
            <Text style={styles.cell}>{row.quantity}</Text>
            <Text style={styles.cell}>{row.price.toFixed(2)}</Text>
            <Text style={styles.cell}>{row.amount.toFixed(2)}</Text>
          </View>
        ))}
        <Text style={styles.foot} fixed render={({ pageNumber, totalPages }) => 'Page ' + pageNumber + ' of ' + totalPages + ', ${LAST_LINE}'} />
      </Page>
    </Document>
  )
}
`

export const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Invoice {{ number }}</title>
<style>
  @page { size: A4; margin: 40pt 40pt 60pt }
  body { margin: 0; font: 9pt sans-serif }
  h1 { font-size: 18pt; font-weight: normal }
  .buyer { display: grid; grid-template-columns: 1fr 1fr; gap: 4pt }
  table { width: 100%; margin-top: 20pt; border-collapse: collapse }
  th, td { padding: 4pt 0; border-bottom: .5pt solid #ccc; text-align: right }
  th:first-child, td:first-child { width: 55%; text-align: left }
  tr { break-inside: avoid }
</style>
</head>
<body>
<h1>Invoice {{ number }}</h1>
<div class="buyer">{% for line in buyer %}<div>{{ line }}</div>{% endfor %}</div>
<table>
<thead><tr><th>Item</th><th>Quantity</th><th>Price</th><th>Amount</th></tr></thead>
<tbody>
{% for row in rows %}<tr><td>{{ row.title }}</td><td>{{ row.quantity }}</td><td>{{ row.price }}</td><td>{{ row.amount }}</td></tr>
{% endfor %}</tbody>
</table>
<p>${LAST_LINE}</p>
</body>
</html>`

/** The HTML that the html engine gives to Chromium, for the bare library, which has nothing to fill. */
export function filledHtml(rows: number): string {
  const html = { template: HTML, javascript: false }
  return fillHtml(aRenderWork({ template: { html }, data: invoiceData(rows) })).html
}
