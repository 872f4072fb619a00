import { Document, Image, ImageBackground, Page, Text, View } from '@react-pdf/renderer'

const Sheet = ({ children }) => (
  <Document>
    <Page size="A5" style={{ padding: 20 }}>
      {children}
    </Page>
  </Document>
)

export const Sizes = ({ data }) => (
  <Sheet>
    <Image src={data.image} />
    <Image source={data.image} style={{ width: 60 }} />
    <Image src={data.image} style={{ height: 30 }} cache />
    <Image src={data.image} style={{ width: 80, height: 20 }} debug />
    <Image src={{ uri: data.image }} style={{ width: '50%' }} />
  </Sheet>
)

export const Fit = ({ data }) => (
  <Sheet>
    {['fill', 'contain', 'cover', 'none', 'scale-down'].map((objectFit) => (
      <Image
        key={objectFit}
        src={data.image}
        style={{ objectFit, objectPosition: 'left top', width: 100, height: 40, backgroundColor: '#ddd', margin: 3 }}
      />
    ))}
    <Image
      src={data.image}
      style={{ objectFit: 'contain', objectPositionX: '100%', objectPositionY: 0, width: 100, height: 40 }}
    />
  </Sheet>
)

export const Framed = ({ data }) => (
  <Sheet>
    <Image src={data.image} style={{ width: 60, height: 60, borderRadius: 30, border: '2pt solid black', opacity: 0.5 }} />
    <View style={{ flexDirection: 'row', alignItems: 'center' }}>
      <Image src={data.image} style={{ width: 40, padding: 5 }} />
      <Text>beside it</Text>
    </View>
  </Sheet>
)

export const Photograph = ({ data }) => (
  <Sheet>
    <Image src={data.photograph} style={{ width: 120 }} />
    <Image src={data.photograph} />
  </Sheet>
)

export const OverPages = ({ data }) => (
  <Sheet>
    {Array.from({ length: 8 }, (_, row) => (
      <View key={row}>
        <Text>picture {row}</Text>
        <Image src={data.image} style={{ width: 120, height: 90 }} id={`picture-${row}`} bookmark={`Picture ${row}`} />
      </View>
    ))}
    <Image src={data.image} break style={{ width: 50 }} minPresenceAhead={10} />
    <Image src={data.image} fixed style={{ position: 'absolute', top: 5, right: 5, width: 20 }} />
  </Sheet>
)

export const Background = ({ data }) => (
  <Sheet>
    <ImageBackground src={data.image} style={{ padding: 20, height: 80 }} imageStyle={{ opacity: 0.4 }}>
      <Text>over a picture</Text>
      <View style={{ width: 20, height: 20, backgroundColor: 'red' }} />
    </ImageBackground>
    <ImageBackground source={data.photograph} style={{ width: 100, height: 60, objectFit: 'cover' }} debug id="photo" bookmark="Photo" />
  </Sheet>
)
