import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

export const Empty = () => (
  <Document>
    <Page />
  </Document>
)

export const Metadata = () => (
  <Document
    title="Annual report"
    author="ACME"
    subject="Figures"
    language="en-GB"
    pageMode="useOutlines"
    pageLayout="twoPageRight"
    pdfVersion="1.7"
    style={{ color: 'red' }}
  >
    <Page bookmark="Start">
      <Text>Title, author and the rest stand in the document.</Text>
    </Page>
  </Document>
)

export const NamedSizes = () => (
  <Document>
    {['A3', 'A4', 'a5', 'A6', 'LETTER', 'LEGAL', 'TABLOID', 'B5', 'C6', 'EXECUTIVE', 'FOLIO', 'ID1'].map((size) => (
      <Page key={size} size={size}>
        <Text>{size}</Text>
      </Page>
    ))}
  </Document>
)

export const MeasuredSizes = () => (
  <Document>
    <Page size={300}>
      <Text>square</Text>
    </Page>
    <Page size={[300, 400]}>
      <Text>two numbers</Text>
    </Page>
    <Page size={['100mm', '5in']}>
      <Text>two lengths</Text>
    </Page>
    <Page size={{ width: 250, height: '12cm' }}>
      <Text>an object</Text>
    </Page>
    <Page size={['400px', '600px']} dpi={96}>
      <Text>pixels</Text>
    </Page>
  </Document>
)

export const Orientation = () => (
  <Document>
    <Page size="A5" orientation="landscape">
      <Text>lying</Text>
    </Page>
    <Page size="A5" orientation="portrait">
      <Text>standing</Text>
    </Page>
    <Page size={[200, 300]} orientation="landscape">
      <Text>turned</Text>
    </Page>
  </Document>
)

export const Dpi = () => (
  <Document>
    <Page dpi={144} size="A6">
      <View style={{ width: '100px', height: '50px', backgroundColor: '#ccc' }} />
      <Text style={{ fontSize: '40px' }}>pixels of a screen</Text>
    </Page>
  </Document>
)

export const Unwrapped = () => (
  <Document>
    <Page wrap={false} size="A6">
      {Array.from({ length: 40 }, (_, row) => (
        <Text key={row}>row {row}</Text>
      ))}
    </Page>
  </Document>
)

export const Debugged = () => (
  <Document>
    <Page debug size="A6" style={{ padding: 20 }}>
      <View debug style={{ padding: 10, margin: 5 }}>
        <Text debug style={{ margin: 4 }}>
          with its boxes
        </Text>
      </View>
    </Page>
  </Document>
)

export const Margins = () => (
  <Document>
    <Page size="A6" style={{ padding: 20, paddingTop: '10%', paddingLeft: '1in', backgroundColor: 'lightyellow' }}>
      <Text>within paddings</Text>
    </Page>
    <Page size="A6" style={{ paddingHorizontal: 30, paddingVertical: '5%' }}>
      {Array.from({ length: 40 }, (_, row) => (
        <Text key={row}>row {row}</Text>
      ))}
    </Page>
  </Document>
)

const styles = StyleSheet.create({
  page: {
    padding: 10,
    '@media max-width: 400': { backgroundColor: 'pink', padding: 40 },
    '@media orientation: landscape': { backgroundColor: 'lightblue' },
  },
  text: { fontSize: 12, '@media min-width: 400': { fontSize: 24 } },
})

export const MediaQueries = () => (
  <Document>
    <Page size={[350, 500]} style={styles.page}>
      <Text style={styles.text}>narrow</Text>
    </Page>
    <Page size={[450, 500]} style={styles.page}>
      <Text style={styles.text}>wide</Text>
    </Page>
    <Page size={[450, 600]} orientation="landscape" style={styles.page}>
      <Text style={styles.text}>lying</Text>
    </Page>
  </Document>
)

export const Chapters = () => (
  <Document>
    {['One', 'Two', 'Three'].map((title, index) => (
      <Page key={title} size="A6" style={{ padding: 20 }}>
        <Text fixed render={({ pageNumber, totalPages, subPageNumber, subPageTotalPages }) =>
          `${title}: ${subPageNumber} of ${subPageTotalPages}, ${pageNumber} of ${totalPages}`} />
        {Array.from({ length: 20 * (index + 1) }, (_, row) => (
          <Text key={row}>
            {title} {row}
          </Text>
        ))}
      </Page>
    ))}
  </Document>
)
