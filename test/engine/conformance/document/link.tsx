import { Document, Link, Note, Page, Text, View } from '@react-pdf/renderer'

const Sheet = ({ children }) => (
  <Document>
    <Page size="A6" style={{ padding: 20, fontSize: 11 }}>
      {children}
    </Page>
  </Document>
)

export const Links = () => (
  <Sheet>
    <Link src="https://example.com/a?b=c&d=e#f">a page</Link>
    <Link href="mailto:someone@example.com" style={{ color: 'black', textDecoration: 'none' }}>
      a mail
    </Link>
    <Link src="tel:+48123456789" debug>
      <Text>a call</Text>
    </Link>
    <Text>
      in the middle of a <Link src="https://example.com">sentence</Link>.
    </Text>
    <Link src="https://example.com/box" style={{ marginTop: 20 }} wrap={false}>
      <View style={{ width: 80, height: 30, backgroundColor: '#cfc' }}>
        <Text>a box</Text>
      </View>
    </Link>
  </Sheet>
)

export const HitSlop = () => (
  <Sheet>
    <View style={{ margin: 40 }}>
      <Link src="https://example.com/all" hitSlop={10}>
        everywhere
      </Link>
      <Link src="https://example.com/some" hitSlop={{ top: 20, left: 5, right: 0, bottom: 1 }} debug>
        at some sides
      </Link>
    </View>
  </Sheet>
)

export const Anchors = () => (
  <Document>
    <Page size="A6" id="contents" style={{ padding: 20 }}>
      {['one', 'two'].map((id) => (
        <Link key={id} src={`#${id}`}>
          to {id}
        </Link>
      ))}
      <Text>
        or <Link src="#contents">here</Link>
      </Text>
    </Page>
    <Page size="A6" style={{ padding: 20 }}>
      <Text id="one">Chapter one</Text>
      <View id="two" break style={{ marginTop: 30 }}>
        <Text>Chapter two</Text>
      </View>
    </Page>
  </Document>
)

export const OverPages = () => (
  <Sheet>
    {Array.from({ length: 40 }, (_, row) => (
      <Link key={row} src={`https://example.com/${row}`} id={`link-${row}`} bookmark={row % 10 === 0 ? `Link ${row}` : undefined}>
        link {row}
      </Link>
    ))}
    <Link break src="#link-0" minPresenceAhead={5}>
      back
    </Link>
  </Sheet>
)

export const DynamicLinks = () => (
  <Sheet>
    <Link src="https://example.com" fixed render={({ pageNumber }) => `page ${pageNumber}`} />
    {Array.from({ length: 40 }, (_, row) => (
      <Text key={row}>line {row}</Text>
    ))}
  </Sheet>
)

export const Notes = () => (
  <Sheet>
    <Text>a note is on its right</Text>
    <Note fixed={false}>Checked by accounting</Note>
    <View style={{ marginTop: 50 }}>
      <Note style={{ position: 'absolute', right: 10, backgroundColor: 'yellow' }} id="note" bookmark="Note" debug>
        Second
      </Note>
    </View>
    <Note break minPresenceAhead={1}>
      On another page
    </Note>
  </Sheet>
)

export const Bookmarks = () => (
  <Document>
    <Page size="A6" bookmark="Introduction">
      <Text bookmark={{ title: 'Summary', fit: true, expanded: true }}>Summary</Text>
    </Page>
    <Page size="A6" bookmark={{ title: 'Body', expanded: true, zoom: 1.5 }}>
      <View bookmark={{ title: 'First', top: 10, left: 20 }}>
        <Text>First</Text>
        <View bookmark="Nested">
          <Text bookmark="Deeper">Nested</Text>
        </View>
      </View>
      <View break bookmark="Second — ż">
        <Text>Second</Text>
      </View>
    </Page>
  </Document>
)
