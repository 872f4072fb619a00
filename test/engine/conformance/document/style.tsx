import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'

const Sheet = ({ children }) => (
  <Document>
    <Page size="A4" style={{ padding: 20, fontSize: 10 }}>
      {children}
    </Page>
  </Document>
)
const Box = ({ style, children = 'box' }) => (
  <View style={[{ backgroundColor: '#dde', margin: 3 }, style]}>
    <Text>{children}</Text>
  </View>
)

export const Borders = () => (
  <Sheet>
    <Box style={{ border: '2pt solid red' }} />
    <Box style={{ border: 1, borderColor: 'green', borderStyle: 'dashed' }} />
    <Box style={{ borderWidth: 3, borderColor: '#333', borderStyle: 'dotted', borderRadius: 8 }} />
    <Box style={{ borderTop: '3pt solid blue', borderRight: '1pt dashed red', borderBottom: '2pt dotted black', borderLeft: '4pt solid gold' }} />
    <Box
      style={{
        borderTopWidth: 1,
        borderTopColor: 'red',
        borderTopStyle: 'solid',
        borderRightWidth: 2,
        borderRightColor: 'green',
        borderRightStyle: 'solid',
        borderBottomWidth: 3,
        borderBottomColor: 'blue',
        borderBottomStyle: 'dashed',
        borderLeftWidth: '1mm',
        borderLeftColor: 'black',
        borderLeftStyle: 'dotted',
      }}
    />
    <Box
      style={{
        padding: 12,
        borderTopLeftRadius: 10,
        borderTopRightRadius: '20%',
        borderBottomRightRadius: 0,
        borderBottomLeftRadius: '3mm',
      }}
    />
  </Sheet>
)

export const Boxes = () => (
  <Sheet>
    <Box style={{ margin: '10 20' }} />
    <Box style={{ marginVertical: 5, marginHorizontal: '10%' }} />
    <Box style={{ marginTop: 1, marginRight: 2, marginBottom: 3, marginLeft: 'auto', width: 100 }} />
    <Box style={{ padding: '1mm 2mm 3mm 4mm' }} />
    <Box style={{ paddingVertical: 4, paddingHorizontal: '1cm' }} />
    <Box style={{ paddingTop: 1, paddingRight: 2, paddingBottom: 3, paddingLeft: 4 }} />
  </Sheet>
)

export const Dimensions = () => (
  <Sheet>
    <Box style={{ width: '30mm', height: '1in' }} />
    <Box style={{ width: '50%', height: '5vh' }} />
    <Box style={{ width: '20vw', minHeight: 30, maxHeight: 40 }} />
    <Box style={{ minWidth: 200, maxWidth: '60%', width: 20 }} />
    <Box style={{ width: '4rem', aspectRatio: 2 }} />
    <Box style={{ width: '120px', height: '2cm' }} />
  </Sheet>
)

export const Flex = () => (
  <Sheet>
    <View style={{ flexDirection: 'row', height: 60, gap: 5 }}>
      <Box style={{ flex: 1 }} />
      <Box style={{ flexGrow: 2, flexShrink: 1, flexBasis: 10 }} />
      <Box style={{ flex: '0 0 80', alignSelf: 'flex-end', justifySelf: 'start' }} />
    </View>
    <View style={{ flexFlow: 'row', flexDirection: 'row-reverse', justifyContent: 'space-around', alignItems: 'center', height: 50 }}>
      <Box />
      <Box style={{ height: 40 }} />
    </View>
    <View style={{ flexDirection: 'row', flexWrap: 'wrap', alignContent: 'space-between', rowGap: 4, columnGap: 10, height: 120 }}>
      {Array.from({ length: 12 }, (_, index) => (
        <Box key={index} style={{ width: 90, height: 20 }}>
          {index}
        </Box>
      ))}
    </View>
    <View style={{ flexDirection: 'column-reverse' }}>
      <Box>last</Box>
      <Box>first</Box>
    </View>
    <View style={{ display: 'flex' }}>
      <Box>seen</Box>
    </View>
  </Sheet>
)

export const Positions = () => (
  <Sheet>
    <View style={{ height: 200, backgroundColor: '#eee' }}>
      <Box style={{ position: 'absolute', top: 10, left: 10 }} />
      <Box style={{ position: 'absolute', bottom: '10%', right: '1cm' }} />
      <Box style={{ position: 'relative', top: 5, left: 40, width: 50 }} />
      <Box style={{ position: 'static', width: 50 }} />
    </View>
    <View style={{ overflow: 'hidden', width: 60, height: 20, backgroundColor: 'pink' }}>
      <Text style={{ width: 200 }}>cut off at the edge of its box</Text>
    </View>
    <Box style={{ opacity: 0.4, visibility: 'visible', zIndex: 3 }} />
  </Sheet>
)

export const Transforms = () => (
  <Sheet>
    {[
      'rotate(10deg)',
      'rotate(0.2rad)',
      'scale(0.5)',
      'scale(0.5, 0.8)',
      'scaleX(0.5)',
      'scaleY(0.5)',
      'translate(20, 5)',
      'translateX(30)',
      'translateY(10)',
      'skew(10deg, 5deg)',
      'skewX(20deg)',
      'skewY(10deg)',
      'matrix(1, 0.1, 0, 1, 10, 0)',
      'rotate(5deg) translate(10, 0)',
    ].map((transform) => (
      <Box key={transform} style={{ transform, width: 150, height: 25 }}>
        {transform}
      </Box>
    ))}
    <Box style={{ transform: [{ operation: 'rotate', value: [15, 0, 0] }], width: 100 }} />
    <Box style={{ transform: 'rotate(45deg)', transformOrigin: 'top left', width: 40 }} />
    <Box style={{ transform: 'rotate(45deg)', transformOriginX: '100%', transformOriginY: 0, width: 40 }} />
  </Sheet>
)

const sheet = StyleSheet.create({
  base: { color: 'navy', padding: 4 },
  loud: { color: 'red', fontSize: 16 },
})

export const Lists = ({ data }) => (
  <Sheet>
    <Text style={[sheet.base, sheet.loud]}>the last wins</Text>
    <Text style={[sheet.base, false && sheet.loud, null, undefined, [[{ color: 'green' }]]]}>nested, with gaps</Text>
    <Text style={{ ...sheet.base, ...(data.isMissing ? sheet.loud : {}) }}>spread</Text>
    <View style={[{ padding: 2 }, { paddingTop: 20 }, { padding: 8 }]}>
      <Text>shorthands in their order</Text>
    </View>
    <Text style={{ color: undefined, fontSize: null }}>nothing to say</Text>
  </Sheet>
)

export const Drawn = () => (
  <Sheet>
    <Text
      style={{
        fill: 'red',
        stroke: 'blue',
        strokeWidth: 1,
        strokeDasharray: '1 2',
        strokeLinecap: 'round',
        strokeLinejoin: 'round',
        strokeOpacity: 0.5,
        fillOpacity: 0.5,
        fillRule: 'evenodd',
        textAnchor: 'middle',
        dominantBaseline: 'middle',
        clipPath: 'none',
        gradientTransform: 'rotate(10)',
      }}
    >
      styles of drawings mean nothing here
    </Text>
  </Sheet>
)
