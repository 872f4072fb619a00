import { Document, Image, Link, Page, Text, View } from '@react-pdf/renderer'

const LOREM =
  'The quick brown fox jumps over the lazy dog while seven sleepy owls watch from the old oak and nobody says a word about it. '

const Sheet = ({ children, style = {}, size = 'A5' }) => (
  <Document>
    <Page size={size} style={[{ padding: 30, fontSize: 11 }, style]}>
      {children}
    </Page>
  </Document>
)

export const Plain = () => (
  <Sheet>
    <Text>One line.</Text>
    <Text>{LOREM.repeat(4)}</Text>
    <Text>
      Numbers {1} and {2.5}, nothing {null}
      {false}, and{' '}
      <Text style={{ fontWeight: 'bold' }}>
        bold, <Text style={{ fontStyle: 'italic' }}>slanted too</Text>
      </Text>
      .
    </Text>
    <Text>{'two\nlines'}</Text>
    <Text></Text>
  </Sheet>
)

export const Alphabets = () => (
  <Sheet>
    <Text>Zażółć gęślą jaźń, Straße, naïve, Ελληνικά, Привет, € ✓ ←</Text>
    <Text style={{ fontFamily: 'DejaVu Serif' }}>Zażółć gęślą jaźń</Text>
    <Text style={{ fontFamily: 'DejaVu Sans Mono' }}>Zażółć gęślą jaźń</Text>
  </Sheet>
)

export const StandardFonts = () => (
  <Sheet style={{ fontFamily: 'Helvetica' }}>
    <Text>Helvetica</Text>
    <Text style={{ fontWeight: 700 }}>Helvetica bold</Text>
    <Text style={{ fontStyle: 'italic' }}>Helvetica slanted</Text>
    <Text style={{ fontFamily: 'Times-Roman' }}>Times</Text>
    <Text style={{ fontFamily: 'Times-BoldItalic' }}>Times bold italic</Text>
    <Text style={{ fontFamily: 'Courier', fontWeight: 'bold' }}>Courier bold</Text>
  </Sheet>
)

export const Weights = () => (
  <Sheet>
    {['thin', 'light', 'normal', 'medium', 'semibold', 'bold', 'heavy', 300, 500, 600, 900].map((fontWeight) => (
      <Text key={fontWeight} style={{ fontWeight }}>
        weight {fontWeight}
      </Text>
    ))}
  </Sheet>
)

export const Alignment = () => (
  <Sheet>
    {['left', 'right', 'center', 'justify'].map((textAlign) => (
      <Text key={textAlign} style={{ textAlign, marginBottom: 6 }}>
        {LOREM.repeat(2)}
      </Text>
    ))}
    <Text style={{ direction: 'rtl' }}>from the right</Text>
    <Text style={{ textIndent: 30 }}>{LOREM}</Text>
  </Sheet>
)

export const Decoration = () => (
  <Sheet>
    <Text style={{ textDecoration: 'underline' }}>underlined</Text>
    <Text style={{ textDecoration: 'line-through', textDecorationColor: 'red' }}>struck</Text>
    <Text style={{ textDecoration: 'underline line-through', textDecorationStyle: 'dashed' }}>both</Text>
    <Text style={{ textDecoration: 'underline' }}>
      outer <Text style={{ textDecoration: 'none', color: 'green' }}>inner</Text>
    </Text>
    <Text>
      H<Text style={{ verticalAlign: 'sub', fontSize: 7 }}>2</Text>O and x
      <Text style={{ verticalAlign: 'super', fontSize: 7 }}>2</Text>
    </Text>
  </Sheet>
)

export const Transformation = () => (
  <Sheet>
    {['uppercase', 'lowercase', 'capitalize', 'upperfirst', 'none'].map((textTransform) => (
      <Text key={textTransform} style={{ textTransform }}>
        some Words of all Kinds
      </Text>
    ))}
  </Sheet>
)

export const Spacing = () => (
  <Sheet>
    <Text style={{ letterSpacing: 2 }}>spaced letters</Text>
    <Text style={{ letterSpacing: -0.5 }}>tight letters</Text>
    <Text style={{ wordSpacing: 5 }}>spaced words, or not</Text>
    <Text style={{ lineHeight: 2 }}>{LOREM}</Text>
    <Text style={{ lineHeight: '150%' }}>{LOREM}</Text>
    <Text style={{ lineHeight: '20pt', fontSize: 9 }}>{LOREM}</Text>
  </Sheet>
)

export const LineHeightOfPage = () => (
  <Sheet style={{ lineHeight: 1.6 }}>
    <Text>{LOREM.repeat(3)}</Text>
    <View style={{ fontSize: 16 }}>
      <Text>{LOREM}</Text>
    </View>
  </Sheet>
)

export const Truncation = () => (
  <Sheet>
    <Text style={{ maxLines: 1, textOverflow: 'ellipsis' }}>{LOREM.repeat(2)}</Text>
    <Text style={{ maxLines: 2 }}>{LOREM.repeat(3)}</Text>
    <View style={{ width: 80 }}>
      <Text style={{ maxLines: 2, textOverflow: 'ellipsis' }}>{LOREM}</Text>
    </View>
  </Sheet>
)

export const Features = () => (
  <Sheet>
    <Text style={{ fontFeatureSettings: ['liga', 'kern'] }}>office fjord AVATAR</Text>
    <Text style={{ fontFeatureSettings: { liga: false, kern: 1 } }}>office fjord AVATAR</Text>
  </Sheet>
)

export const Inherited = () => (
  <Sheet style={{ color: 'navy', fontFamily: 'DejaVu Serif' }}>
    <View style={{ color: 'teal', fontSize: 14, fontWeight: 'bold', textAlign: 'right', opacity: 0.6 }}>
      <Text>of the view</Text>
      <View style={{ letterSpacing: 1, textTransform: 'uppercase' }}>
        <Text>deeper</Text>
      </View>
    </View>
    <Text>of the page</Text>
  </Sheet>
)

export const Colours = () => (
  <Sheet>
    {['red', '#0a0', '#0000ff', '#ff000080', 'rgb(200, 100, 0)', 'rgba(0,0,0,.4)', 'hsl(280, 60%, 40%)'].map((color) => (
      <Text key={color} style={{ color }}>
        {color}
      </Text>
    ))}
    <Text style={{ backgroundColor: 'yellow' }}>
      on yellow <Text style={{ backgroundColor: 'pink' }}>on pink</Text>
    </Text>
    <Text style={{ opacity: 0.3 }}>faint</Text>
  </Sheet>
)

export const Inline = ({ data }) => (
  <Sheet>
    <Text>
      a picture <Image src={data.image} style={{ width: 20, height: 20 }} /> in a line and a{' '}
      <Link src="https://example.com">link</Link> as well
    </Text>
  </Sheet>
)

export const NarrowColumn = () => (
  <Sheet>
    <View style={{ width: 90 }}>
      <Text hyphenationPenalty={10}>Dampfschiffahrt und andere Wörter in schmalen Spalten</Text>
    </View>
  </Sheet>
)

export const OverPages = () => (
  <Sheet size="A6">
    <Text>{LOREM.repeat(40)}</Text>
    <Text style={{ marginTop: 10, fontSize: 14 }}>{LOREM.repeat(20)}</Text>
  </Sheet>
)

export const OverPagesInBoxes = () => (
  <Sheet size="A6">
    <View style={{ border: '1pt solid #888', padding: 10, marginBottom: 10 }}>
      <Text>{LOREM.repeat(20)}</Text>
    </View>
    <View style={{ backgroundColor: '#eef', borderRadius: 8, padding: 12 }}>
      <Text style={{ textAlign: 'justify' }}>{LOREM.repeat(20)}</Text>
    </View>
  </Sheet>
)

export const OrphansAndWidows = () => (
  <Sheet size="A6">
    {[
      [1, 1],
      [2, 2],
      [4, 4],
      [6, 2],
    ].map(([orphans, widows], index) => (
      <View key={index} break={index > 0}>
        <View style={{ height: 300, backgroundColor: '#eee' }} />
        <Text orphans={orphans} widows={widows}>
          {LOREM.repeat(5)}
        </Text>
      </View>
    ))}
  </Sheet>
)

export const Floats = () => (
  <Sheet>
    <View>
      <View style={{ float: 'left', width: 60, height: 60, backgroundColor: 'salmon', marginRight: 8 }} />
      <Text>{LOREM.repeat(3)}</Text>
      <Text style={{ clear: 'both' }}>below</Text>
    </View>
    <View>
      <View
        style={{ float: 'right', width: 80, height: 80, borderRadius: 40, backgroundColor: 'plum', shapeOutside: 'circle(50%)' }}
      />
      <Text>{LOREM.repeat(3)}</Text>
    </View>
  </Sheet>
)
