import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

const LOREM = 'Words that go on and on until the line is full and another has to be begun below it. '

const styles = StyleSheet.create({
  page: { padding: 20, fontSize: 10 },
  box: { border: '1pt solid black', padding: 6, marginBottom: 8 },
  row: { flexDirection: 'row', borderBottom: '1pt solid #ccc', paddingVertical: 3 },
  cell: { flex: 1, paddingHorizontal: 4 },
})

const A6 = ({ children, style = {} }) => (
  <Document>
    <Page size="A6" style={[styles.page, style]}>
      {children}
    </Page>
  </Document>
)

const rows = (count) => Array.from({ length: count }, (_, row) => row)
const Line = ({ row }) => <Text>line {row}</Text>
const Row = ({ row, lines = 1 }) => (
  <View style={styles.row} wrap={false}>
    <Text style={styles.cell}>item {row}</Text>
    <Text style={styles.cell}>{LOREM.repeat(lines).trim()}</Text>
    <Text style={[styles.cell, { textAlign: 'right' }]}>{(row * 7) % 100}.00</Text>
  </View>
)

export const ManyLines = () => (
  <A6>
    {rows(120).map((row) => (
      <Line key={row} row={row} />
    ))}
  </A6>
)

export const Table = () => (
  <A6>
    <View style={[styles.row, { backgroundColor: '#ddd' }]}>
      <Text style={styles.cell}>Item</Text>
      <Text style={styles.cell}>Text</Text>
      <Text style={styles.cell}>Price</Text>
    </View>
    {rows(60).map((row) => (
      <Row key={row} row={row} />
    ))}
  </A6>
)

export const TableWithRepeatedHeader = () => (
  <A6>
    <View fixed style={[styles.row, { backgroundColor: '#ddd' }]}>
      <Text style={styles.cell}>Item</Text>
      <Text style={styles.cell}>Text</Text>
    </View>
    {rows(60).map((row) => (
      <Row key={row} row={row} />
    ))}
  </A6>
)

export const TableInAView = () => (
  <A6>
    <Text>before</Text>
    <View style={{ border: '1pt solid black' }}>
      <View fixed style={[styles.row, { backgroundColor: '#ddd' }]}>
        <Text style={styles.cell}>Item</Text>
      </View>
      {rows(40).map((row) => (
        <Row key={row} row={row} />
      ))}
    </View>
    <Text>after</Text>
  </A6>
)

export const RowsThatBreak = () => (
  <A6>
    {rows(12).map((row) => (
      <View key={row} style={styles.row}>
        <Text style={styles.cell}>item {row}</Text>
        <Text style={styles.cell}>{LOREM.repeat(4)}</Text>
      </View>
    ))}
  </A6>
)

export const Breaks = () => (
  <A6>
    <Text>first page</Text>
    <Text break>second page</Text>
    <View break>
      <Text>third page</Text>
    </View>
    <Text>still third</Text>
  </A6>
)

export const BreakAtTheStart = () => (
  <A6>
    <Text break>first of all</Text>
    <Text>and more</Text>
  </A6>
)

export const NestedBreak = () => (
  <A6>
    <View style={styles.box}>
      <Text>first page</Text>
      <Text break>second page</Text>
      <Text>more of it</Text>
    </View>
    <Text>at the end</Text>
  </A6>
)

export const Unbreakable = () => (
  <A6>
    {rows(9).map((row) => (
      <View key={row} wrap={false} style={styles.box}>
        <Text>{LOREM.repeat(3)}</Text>
      </View>
    ))}
  </A6>
)

export const NestedUnbreakable = () => (
  <A6>
    {rows(4).map((row) => (
      <View key={row} style={styles.box}>
        <View wrap={false} style={{ backgroundColor: '#eee', padding: 4 }}>
          <Text>{LOREM.repeat(3)}</Text>
          <View wrap={false}>
            <Text>inner {row}</Text>
          </View>
        </View>
        <Text>{LOREM.repeat(3)}</Text>
      </View>
    ))}
  </A6>
)

export const UnbreakableText = () => (
  <A6>
    {rows(6).map((row) => (
      <Text key={row} wrap={false} style={{ marginBottom: 10 }}>
        {row} {LOREM.repeat(5)}
      </Text>
    ))}
  </A6>
)

export const TallUnbreakable = () => (
  <A6>
    <Text>before</Text>
    <View wrap={false} style={{ height: 600, backgroundColor: '#fee' }}>
      <Text>higher than the page</Text>
    </View>
    <Text>after</Text>
  </A6>
)

export const TallBoxes = () => (
  <A6>
    <View style={{ height: 900, backgroundColor: '#efe' }} />
    <Text>after</Text>
  </A6>
)

export const Presence = () => (
  <A6>
    {rows(5).map((row) => (
      <View key={row}>
        <Text minPresenceAhead={60} style={{ fontSize: 14 }}>
          Heading {row}
        </Text>
        <Text>{LOREM.repeat(6)}</Text>
      </View>
    ))}
  </A6>
)

export const PresenceOfSiblings = () => (
  <A6>
    {rows(8).flatMap((row) => [
      <Text key={`h${row}`} minPresenceAhead={50} style={{ fontSize: 13 }}>
        Heading {row}
      </Text>,
      <Text key={`t${row}`}>{LOREM.repeat(4)}</Text>,
    ])}
  </A6>
)

export const Columns = () => (
  <A6>
    <View style={{ flexDirection: 'row', gap: 10 }}>
      <View style={{ flex: 1 }}>
        <Text>{LOREM.repeat(20)}</Text>
      </View>
      <View style={{ flex: 1, backgroundColor: '#eef' }}>
        <Text>{LOREM.repeat(8)}</Text>
      </View>
    </View>
    <Text>below both</Text>
  </A6>
)

export const ColumnsOfRows = () => (
  <A6>
    <View style={{ flexDirection: 'row' }}>
      {[30, 50].map((count) => (
        <View key={count} style={{ flex: 1 }}>
          {rows(count).map((row) => (
            <Line key={row} row={row} />
          ))}
        </View>
      ))}
    </View>
  </A6>
)

export const Nested = () => (
  <A6>
    {rows(3).map((outer) => (
      <View key={outer} style={styles.box}>
        {rows(3).map((inner) => (
          <View key={inner} style={[styles.box, { borderRadius: 6 }]}>
            <Text>
              {outer}.{inner} {LOREM.repeat(3)}
            </Text>
          </View>
        ))}
      </View>
    ))}
  </A6>
)

export const MarginsAndGaps = () => (
  <A6>
    <View style={{ gap: 12 }}>
      {rows(20).map((row) => (
        <View key={row} style={{ marginTop: 5, backgroundColor: row % 2 ? '#fdd' : '#ddf' }}>
          <Line row={row} />
        </View>
      ))}
    </View>
  </A6>
)

export const WrappingRows = () => (
  <A6>
    <View style={{ flexDirection: 'row', flexWrap: 'wrap', gap: 6 }}>
      {rows(14).map((row) => (
        <View key={row} style={{ width: 60, height: 40, backgroundColor: '#cdf' }}>
          <Text>{row}</Text>
        </View>
      ))}
    </View>
    <Text>below</Text>
  </A6>
)

export const AbsoluteParts = () => (
  <A6>
    <View style={{ height: 100, backgroundColor: '#eee' }}>
      <Text style={{ position: 'absolute', right: 5, bottom: 5 }}>in its corner</Text>
    </View>
    <View style={{ position: 'absolute', top: 200, left: 30, width: 50, height: 50, backgroundColor: 'tan' }} />
    {rows(40).map((row) => (
      <Line key={row} row={row} />
    ))}
  </A6>
)

export const LeftOvers = () => (
  <A6 style={{ paddingBottom: 40 }}>
    <View style={{ flexGrow: 1, justifyContent: 'space-between' }}>
      <Text>at the top</Text>
      <Text>at the bottom</Text>
    </View>
  </A6>
)

export const HalfAPage = () => (
  <A6>
    <View style={{ height: '50%', backgroundColor: '#dfd' }} />
    <View style={{ height: '30vh', backgroundColor: '#ddf' }} />
    <View style={{ height: '40%', backgroundColor: '#fdd' }} />
  </A6>
)

export const DynamicInTheFlow = () => (
  <A6>
    {rows(30).map((row) => (
      <View key={row} render={({ pageNumber }) => <Text>{`row ${row} is on page ${pageNumber}`}</Text>} />
    ))}
    <Text render={({ pageNumber, totalPages }) => `ends on ${pageNumber} of ${totalPages}`} />
  </A6>
)
