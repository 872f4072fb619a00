import { Document, Line, Page, Rect, Svg, Text, View } from '@react-pdf/renderer'

const rows = (count) => Array.from({ length: count }, (_, row) => row)
const Rows = ({ count = 60 }) => rows(count).map((row) => <Text key={row}>line {row}</Text>)
const A6 = ({ children, style = {} }) => (
  <Document>
    <Page size="A6" style={[{ padding: 30, paddingBottom: 50, fontSize: 11 }, style]}>
      {children}
    </Page>
  </Document>
)
const Number_ = ({ style = {} }) => (
  <Text
    fixed
    style={[{ position: 'absolute', bottom: 20, left: 0, right: 0, textAlign: 'center' }, style]}
    render={({ pageNumber, totalPages }) => `${pageNumber} / ${totalPages}`}
  />
)

export const Header = () => (
  <A6>
    <Text fixed style={{ marginBottom: 10 }}>
      Header
    </Text>
    <Rows />
  </A6>
)

export const PageNumbers = () => (
  <A6>
    <Rows />
    <Number_ />
  </A6>
)

export const HeaderAndNumbers = () => (
  <A6>
    <View fixed style={{ flexDirection: 'row', justifyContent: 'space-between', marginBottom: 12 }}>
      <Text>ACME</Text>
      <Text render={({ pageNumber }) => `page ${pageNumber}`} />
    </View>
    <Rows count={100} />
    <Number_ />
  </A6>
)

export const FooterOfManyParts = () => (
  <A6>
    <Rows />
    <View fixed style={{ position: 'absolute', bottom: 15, left: 30, right: 30, borderTop: '1pt solid #888', paddingTop: 4 }}>
      <View style={{ flexDirection: 'row', justifyContent: 'space-between' }}>
        <Text>ACME Ltd</Text>
        <Text render={({ pageNumber, totalPages }) => `${pageNumber} of ${totalPages}`} />
      </View>
    </View>
  </A6>
)

export const Overlay = () => (
  <A6>
    {rows(40).map((row) => (
      <View key={row} style={{ backgroundColor: row % 2 ? '#bbb' : '#999', height: 18 }}>
        <Text>line {row}</Text>
      </View>
    ))}
    <Text
      fixed
      style={{ position: 'absolute', top: 150, left: 30, fontSize: 60, color: 'red', transform: 'rotate(-45deg)' }}
    >
      DRAFT
    </Text>
  </A6>
)

export const Backdrop = () => (
  <A6>
    <View fixed style={{ position: 'absolute', top: 0, left: 0, width: '100%', height: 100, backgroundColor: 'gold' }} />
    <Rows />
  </A6>
)

export const BackdropAndOverlay = () => (
  <A6>
    <View fixed style={{ position: 'absolute', top: 20, left: 20, width: 200, height: 100, backgroundColor: 'gold' }} />
    {rows(30).map((row) => (
      <View key={row} style={{ backgroundColor: '#cce', height: 20, width: '60%' }}>
        <Text>line {row}</Text>
      </View>
    ))}
    <View fixed style={{ position: 'absolute', top: 60, left: 60, width: 100, height: 100, backgroundColor: 'tomato' }} />
    <Number_ />
  </A6>
)

export const StackedByIndex = () => (
  <A6>
    <View style={{ zIndex: 2, height: 60, marginBottom: -30, backgroundColor: 'teal' }} />
    <View style={{ zIndex: 1, height: 60, backgroundColor: 'orange' }} />
    <View style={{ height: 60, marginTop: -30, backgroundColor: 'grey' }} />
  </A6>
)

export const InAView = () => (
  <A6>
    <View>
      <Text fixed>Header of the view</Text>
      <Rows />
      <Number_ />
    </View>
  </A6>
)

export const InTwoViews = () => (
  <A6>
    <View>
      <Text fixed>First</Text>
      <Rows count={40} />
    </View>
    <View>
      <Text fixed>Second</Text>
      <Rows count={40} />
    </View>
  </A6>
)

export const LineHeight = () => (
  <A6 style={{ lineHeight: 1.5 }}>
    <Rows count={40} />
    <Text fixed style={{ position: 'absolute', bottom: 20, left: 30 }}>
      Footer
    </Text>
  </A6>
)

export const Drawn = () => (
  <A6>
    <Rows />
    <Svg fixed width={100} height={20} style={{ position: 'absolute', bottom: 15, left: 30 }}>
      <Rect width={100} height={20} fill="#eee" />
      <Line x1={0} y1={10} x2={100} y2={10} stroke="red" />
    </Svg>
  </A6>
)

export const OnSeveralSheets = () => (
  <Document>
    {['first', 'second'].map((name) => (
      <Page key={name} size="A6" style={{ padding: 30, paddingBottom: 50 }}>
        <Text fixed>{name}</Text>
        <Rows count={30} />
        <Number_ />
      </Page>
    ))}
  </Document>
)

export const OnlyTheFirst = () => (
  <A6>
    <Rows />
    <Text
      fixed
      style={{ position: 'absolute', bottom: 20, left: 30 }}
      render={({ pageNumber }) => (pageNumber === 1 ? 'to be continued' : pageNumber % 2 === 0 && 'even')}
    />
  </A6>
)

export const Elements = () => (
  <A6>
    <Rows />
    <View
      fixed
      style={{ position: 'absolute', bottom: 10, left: 30, right: 30 }}
      render={({ pageNumber }) => (
        <>
          <View style={{ height: 2, backgroundColor: 'black' }} />
          <Text>part {pageNumber}</Text>
        </>
      )}
    />
  </A6>
)

export const PerSheet = () => (
  <A6>
    <Text fixed render={({ subPageNumber, subPageTotalPages }) => `${subPageNumber} of ${subPageTotalPages}`} />
    <Rows count={50} />
  </A6>
)

export const NumbersAtBothEnds = () => (
  <A6>
    <Number_ />
    <View style={{ backgroundColor: '#ddd' }}>
      <Rows />
    </View>
    <Number_ style={{ bottom: undefined, top: 10 }} />
    <Number_ style={{ bottom: 100, color: 'red' }} />
  </A6>
)

export const NumbersByTheWay = () => (
  <A6>
    <Rows count={10} />
    <Text style={{ position: 'absolute', top: 200, right: 20 }} render={({ pageNumber }) => `on ${pageNumber}`} />
    <Rows count={40} />
  </A6>
)
