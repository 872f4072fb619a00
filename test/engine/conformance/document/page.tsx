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

const Labels = ({ count = 30, height = 60, ...props }) =>
  Array.from({ length: count }, (_, index) => (
    <View key={index} style={{ width: 80, height, border: '1pt solid grey' }} {...props}>
      <Text>label {index}</Text>
    </View>
  ))
const A6 = ({ children, ...style }) => (
  <Document>
    <Page size="A6" style={{ padding: 20, fontSize: 10, ...style }}>
      {children}
    </Page>
  </Document>
)
const Head = ({ style = {} }) => (
  <Text fixed style={[{ width: '100%', marginBottom: 8 }, style]}>
    Head
  </Text>
)
const PageNumber = () => (
  <Text
    fixed
    style={{ position: 'absolute', bottom: 6, right: 20 }}
    render={({ pageNumber, totalPages }) => `${pageNumber} of ${totalPages}`}
  />
)

export const LabelSheet = () => (
  <A6 flexDirection="row" flexWrap="wrap">
    <Labels />
  </A6>
)

export const LabelSheetOfUnbrokenLabels = () => (
  <A6 flexDirection="row" flexWrap="wrap" gap={5}>
    <Labels wrap={false} />
  </A6>
)

export const LabelSheetWithHeadAndNumbers = () => (
  <A6 flexDirection="row" flexWrap="wrap">
    <Head />
    <Labels />
    <PageNumber />
  </A6>
)

export const LabelSheetWithFooter = () => (
  <A6 flexDirection="row" flexWrap="wrap">
    <Labels />
    <Head />
  </A6>
)

export const RowFlow = () => (
  <A6 flexFlow="row wrap" alignContent="space-between" alignItems="center" justifyContent="space-around">
    <Labels count={9} />
  </A6>
)

export const RowOfColumns = () => (
  <A6 flexDirection="row">
    <View style={{ width: '40%' }}>
      <Labels count={3} />
    </View>
    <View style={{ width: '60%' }}>
      <Labels count={20} />
    </View>
  </A6>
)

export const RowBesideFixed = () => (
  <A6 flexDirection="row" padding={0}>
    <View fixed style={{ width: 60, height: '100%', backgroundColor: '#ddd' }}>
      <Text>aside</Text>
    </View>
    <View style={{ flex: 1 }}>
      <Labels count={20} />
    </View>
  </A6>
)

export const ReversedRow = () => (
  <A6 flexDirection="row-reverse" flexWrap="wrap-reverse">
    <Labels count={20} />
  </A6>
)

export const ReversedColumn = () => (
  <A6 flexDirection="column-reverse">
    <Labels count={20} height={40} />
  </A6>
)

export const ColumnsThatWrap = () => (
  <A6 flexWrap="wrap" alignContent="center">
    <Labels count={30} />
  </A6>
)

export const RowOnNarrowPages = () => (
  <Document>
    <Page size="A6" style={{ padding: 20, '@media max-width: 400': { flexDirection: 'row', flexWrap: 'wrap' } }}>
      <Labels />
    </Page>
  </Document>
)

export const LimitedHeights = () => (
  <Document>
    {[{ minHeight: 500 }, { maxHeight: 200 }, { height: 200 }].map((style, index) => (
      <Page key={index} size="A6" style={{ padding: 20, ...style }}>
        <Labels count={9} />
      </Page>
    ))}
  </Document>
)

export const Receipts = () => (
  <Document>
    {[[226], { width: 226 }, { width: '80mm' }, ['80mm']].map((size, index) => (
      <Page key={index} size={size} style={{ padding: 10, fontSize: 9 }}>
        <Labels count={10 * index + 1} />
        <View style={{ flexDirection: 'row', justifyContent: 'space-between' }}>
          <Text>Total</Text>
          <Text>6.00</Text>
        </View>
        <PageNumber />
      </Page>
    ))}
  </Document>
)

export const ReceiptOfTwoParts = () => (
  <Document>
    <Page size={[226]} style={{ padding: 10 }}>
      <Head />
      <Labels count={3} />
      <Text break>the second part</Text>
      <Labels count={4} />
      <Text render={({ pageNumber, totalPages }) => `${pageNumber} of ${totalPages}`} />
    </Page>
  </Document>
)

export const ReceiptOfLabels = () => (
  <Document>
    <Page size={[226]} style={{ padding: 10, flexDirection: 'row', flexWrap: 'wrap' }}>
      <Labels count={7} />
    </Page>
  </Document>
)

export const ReceiptBesideTable = () => (
  <Document>
    <Page size={[226]} style={{ padding: 10 }}>
      <Labels count={10} />
    </Page>
    <Page size="A6" style={{ padding: 20 }}>
      <Labels />
    </Page>
  </Document>
)

export const PaddingsWithoutContent = () => (
  <Document>
    <Page size="A6" style={{ paddingTop: 420 }}>
      <Text style={{ position: 'absolute', top: 20 }}>placed</Text>
    </Page>
    <Page size="A6" style={{ paddingTop: 420 }} />
  </Document>
)

export const FooterHigherThanThePage = () => (
  <A6>
    <Labels count={2} />
    <View fixed style={{ height: 500 }}>
      <Text>foot</Text>
    </View>
  </A6>
)
