import {
  Circle,
  ClipPath,
  Defs,
  Document,
  Ellipse,
  G,
  Line,
  LinearGradient,
  Marker,
  Page,
  Path,
  Polygon,
  Polyline,
  RadialGradient,
  Rect,
  Stop,
  Svg,
  Text,
  Tspan,
  View,
} from '@react-pdf/renderer'

const Sheet = ({ children }) => (
  <Document>
    <Page size="A5" style={{ padding: 20 }}>
      {children}
    </Page>
  </Document>
)

export const Shapes = () => (
  <Sheet>
    <Svg width={200} height={200} viewBox="0 0 100 100">
      <Rect x={5} y={5} width={30} height={20} rx={4} ry={2} fill="tomato" stroke="black" strokeWidth={1} />
      <Circle cx={60} cy={20} r={12} fill="none" stroke="#00f" />
      <Ellipse cx={80} cy={50} rx={15} ry={8} fill="green" />
      <Line x1={5} y1={50} x2={50} y2={60} stroke="purple" strokeWidth={3} />
      <Polyline points="5,80 15,70 25,80 35,70" stroke="black" fill="none" />
      <Polygon points="60,90 70,70 80,90" fill="orange" />
      <Path d="M10 90 C 20 80, 40 80, 50 90 S 80 100, 90 90" stroke="red" fill="none" />
    </Svg>
  </Sheet>
)

export const Presentation = () => (
  <Sheet>
    <Svg width="180" height="180" viewBox="0 0 90 90" preserveAspectRatio="xMinYMin slice" fill="teal" color="red">
      <Path d="M5 5 H40 V40 Z M10 10 H30 V30 Z" fillRule="evenodd" fillOpacity={0.5} />
      <Line x1="5" y1="50" x2="80" y2="50" stroke="#333" strokeWidth="4" strokeLinecap="round" strokeDasharray="8 4" />
      <Polyline points="5 60 20 80 35 60" stroke="navy" strokeWidth={4} strokeLinejoin="round" strokeOpacity="0.5" fill="none" />
      <Rect x={50} y={5} width={20} height={20} opacity={0.4} />
      <Rect x={60} y={60} width={10} height={10} visibility="hidden" />
      <Rect x="50%" y="70%" width="10%" height="5%" style={{ fill: 'gold', stroke: 'black', strokeWidth: 1 }} />
    </Svg>
  </Sheet>
)

export const Groups = () => (
  <Sheet>
    <Svg width={200} height={120}>
      <G transform="translate(20, 20)" fill="steelblue" stroke="black">
        <Rect width={30} height={30} />
        <G transform="rotate(20)" opacity={0.5} style={{ fill: 'red' }}>
          <Rect x={50} width={30} height={30} transform="scale(1.2)" />
        </G>
        <Circle cx={100} cy={20} r={10} transform="skewX(20)" />
      </G>
    </Svg>
  </Sheet>
)

export const Gradients = () => (
  <Sheet>
    <Svg width={240} height={120} viewBox="0 0 240 120">
      <Defs>
        <LinearGradient id="sky" x1="0%" y1="0%" x2="100%" y2="0%">
          <Stop offset="0%" stopColor="blue" />
          <Stop offset="1" stopColor="white" stopOpacity={0.5} style={{}} />
        </LinearGradient>
        <LinearGradient id="turned" xlinkHref="#sky" gradientTransform="rotate(45)" />
        <LinearGradient id="fixed" gradientUnits="userSpaceOnUse" x1={0} y1={60} x2={240} y2={120}>
          <Stop offset={0} stopColor="red" />
          <Stop offset={1} stopColor="yellow" />
        </LinearGradient>
        <RadialGradient id="sun" cx="50%" cy="50%" r="50%" fx="30%" fy="30%">
          <Stop offset="0%" stopColor="yellow" />
          <Stop offset="100%" stopColor="red" />
        </RadialGradient>
        <RadialGradient id="moon" xlinkHref="#sun" gradientUnits="objectBoundingBox" gradientTransform="scale(1.1)" />
      </Defs>
      <Rect x={0} y={0} width={100} height={50} fill="url(#sky)" />
      <Rect x={110} y={0} width={50} height={50} fill="url('#turned')" />
      <Circle cx={200} cy={25} r={25} fill="url(#sun)" />
      <Rect x={0} y={60} width={150} height={50} fill="url(#fixed)" />
      <Circle cx={200} cy={90} r={25} fill="url(#moon)" />
    </Svg>
  </Sheet>
)

export const Clipping = () => (
  <Sheet>
    <Svg width={120} height={120} viewBox="0 0 120 120">
      <Defs>
        <ClipPath id="round">
          <Circle cx={60} cy={60} r={40} />
        </ClipPath>
      </Defs>
      <Rect width={120} height={60} fill="red" clipPath="url(#round)" />
    </Svg>
    <View style={{ overflow: 'hidden', borderRadius: 20, width: 100, height: 60 }}>
      <View style={{ width: 150, height: 150, backgroundColor: 'green' }} />
    </View>
  </Sheet>
)

export const Markers = () => (
  <Sheet>
    <Svg width={200} height={100} viewBox="0 0 200 100">
      <Defs>
        <Marker id="arrow" viewBox="0 0 10 10" refX={5} refY={5} markerWidth={6} markerHeight={6} orient="auto">
          <Path d="M 0 0 L 10 5 L 0 10 z" fill="red" />
        </Marker>
        <Marker id="dot" refX={2} refY={2} markerWidth={4} markerHeight={4} markerUnits="userSpaceOnUse" orient={0}>
          <Circle cx={2} cy={2} r={2} fill="blue" />
        </Marker>
      </Defs>
      <Polyline
        points="10,50 60,20 110,70 180,30"
        fill="none"
        stroke="black"
        strokeWidth={2}
        markerStart="url(#dot)"
        markerMid="url(#dot)"
        markerEnd="url(#arrow)"
      />
      <Line x1={10} y1={90} x2={150} y2={90} stroke="green" strokeWidth={1} markerEnd="url(#arrow)" />
    </Svg>
  </Sheet>
)

export const Lettering = () => (
  <Sheet>
    <Svg width={250} height={120}>
      <Text x={10} y={20} style={{ fontSize: 12 }} fill="navy">
        plain
      </Text>
      <Text x={125} y={40} textAnchor="middle" style={{ fontSize: 14, fontWeight: 'bold' }}>
        in the middle
      </Text>
      <Text x="240" y="60" textAnchor="end" dominantBaseline="middle" style={{ fontFamily: 'DejaVu Serif' }}>
        at the end
      </Text>
      <Text x={10} y={80} style={{ fontSize: 10 }}>
        <Tspan>spans</Tspan>
        <Tspan fill="red">in red</Tspan>
        <Tspan x={120} y={95} style={{ fontSize: 16 }}>
          moved
        </Tspan>
      </Text>
    </Svg>
  </Sheet>
)

export const Chart = ({ data }) => (
  <Sheet>
    <Svg width="100%" height={120} viewBox="0 0 200 100" style={{ backgroundColor: '#f8f8f8' }}>
      {data.values.map((value, index) => (
        <G key={index}>
          <Rect x={index * 25 + 5} y={100 - value} width={20} height={value} fill={value > 50 ? '#2a6' : '#6ac'} />
          <Text x={index * 25 + 15} y={95 - value} textAnchor="middle" style={{ fontSize: 6 }}>
            {value}
          </Text>
        </G>
      ))}
    </Svg>
    <Svg fixed={false} viewBox="0 0 10 10" style={{ width: 40, marginTop: 10 }} id="logo" bookmark="Logo">
      <Circle cx={5} cy={5} r={5} />
    </Svg>
    <Svg debug width={20} height={20} break minPresenceAhead={10}>
      <Rect width={20} height={20} fill="grey" />
    </Svg>
  </Sheet>
)
