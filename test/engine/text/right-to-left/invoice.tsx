import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

const styles = StyleSheet.create({
  page: { direction: 'rtl', padding: 40, paddingBottom: 60, fontSize: 10, lineHeight: 1.5 },
  head: { flexDirection: 'row', justifyContent: 'space-between', marginBottom: 16 },
  title: { fontSize: 20 },
  seller: { width: 180 },
  to: { width: 240, padding: 8, paddingStart: 20, borderStart: '4pt solid #1d4ed8', backgroundColor: '#eef2ff' },
  row: { flexDirection: 'row', borderBottom: '0.5pt solid #d5dbe0', height: 20 },
  tableHead: { backgroundColor: '#1d4ed8', color: 'white' },
  number: { width: 30, paddingStart: 4 },
  name: { width: 265 },
  quantity: { width: 60, textAlign: 'center' },
  price: { width: 80, textAlign: 'end' },
  amount: { width: 80, textAlign: 'end', paddingEnd: 4 },
  total: { width: 200, alignSelf: 'flex-end', marginTop: 12 },
  item: { flexDirection: 'row' },
  bullet: { width: 16 },
  terms: { width: 290, marginTop: 12, textAlign: 'justify', textIndent: 20 },
  footer: { position: 'absolute', bottom: 22.5, left: 40, right: 40, flexDirection: 'row', justifyContent: 'space-between' },
})

const Row = ({ cells, style, fixed = false }) => (
  <View style={[styles.row, style]} fixed={fixed} wrap={false}>
    <Text style={styles.number}>{cells[0]}</Text>
    <Text style={styles.name}>{cells[1]}</Text>
    <Text style={styles.quantity}>{cells[2]}</Text>
    <Text style={styles.price}>{cells[3]}</Text>
    <Text style={styles.amount}>{cells[4]}</Text>
  </View>
)

export default ({ data }) => (
  <Document language={data.language}>
    <Page size="A4" style={styles.page}>
      <View style={styles.head}>
        <Text style={styles.title}>{data.title}</Text>
        <View style={styles.seller}>
          {data.seller.map((line, at) => (
            <Text key={at}>{line}</Text>
          ))}
          <Text>
            {data.phone.label} <Text style={{ direction: 'ltr' }}>{data.phone.number}</Text>
          </Text>
          <Text style={{ direction: 'ltr' }}>{data.mail}</Text>
        </View>
      </View>
      <View style={styles.to}>
        {data.buyer.map((line, at) => (
          <Text key={at}>{line}</Text>
        ))}
      </View>
      <View style={{ height: 16 }} />
      <Row cells={data.columns} style={styles.tableHead} fixed />
      {data.lines.map((cells, at) => (
        <Row key={at} cells={cells} />
      ))}
      <View style={styles.total}>
        {data.totals.map(([label, amount], at) => (
          <View key={at} style={{ flexDirection: 'row', justifyContent: 'space-between' }}>
            <Text>{label}</Text>
            <Text>{amount}</Text>
          </View>
        ))}
      </View>
      {data.notes.map((note, at) => (
        <View key={at} style={styles.item}>
          <Text style={styles.bullet}>•</Text>
          <Text style={{ flex: 1 }}>{note}</Text>
        </View>
      ))}
      <Text style={styles.terms}>{data.terms}</Text>
      <View style={styles.footer} fixed>
        <Text>{data.seller[0]}</Text>
        <Text render={({ pageNumber, totalPages }) => `${data.page} ${pageNumber} / ${totalPages}`} />
      </View>
    </Page>
  </Document>
)
