import { Checkbox, Document, FieldSet, List, Page, Select, Text, TextInput, View } from '@react-pdf/renderer'

export const Fields = () => (
  <Document>
    <Page size="A5" style={{ padding: 20 }}>
      <Text>Name</Text>
      <TextInput name="name" value="Ada" style={{ height: 20, marginBottom: 10 }} align="center" required noSpell />
      <TextInput name="notes" defaultValue="none" multiline maxLength={50} fontSize={9} style={{ height: 60 }} readOnly />
      <TextInput name="secret" password noExport style={{ height: 20 }} />
      <Select name="colour" select={['red', 'green']} value="red" defaultValue="green" sort edit={false} noSpell style={{ height: 20, marginTop: 5 }} />
      <List name="many" select={['one', 'two', 'three']} multiSelect style={{ height: 60, marginTop: 5 }} />
      <View style={{ flexDirection: 'row' }}>
        <Checkbox name="yes" checked style={{ width: 14, height: 14 }} onState="On" offState="Off" xMark />
        <Checkbox name="no" backgroundColor="#ff0000" borderColor="#00ff00" style={{ width: 14, height: 14 }} />
      </View>
    </Page>
  </Document>
)

export const FieldSets = () => (
  <Document>
    <Page size="A5" style={{ padding: 20 }}>
      <FieldSet name="address" style={{ padding: 5 }}>
        <TextInput name="street" style={{ height: 20 }} />
        <Checkbox name="shipping" checked={false} style={{ width: 12, height: 12 }} />
      </FieldSet>
      <FieldSet name="other">
        <TextInput name="street" style={{ height: 20 }} />
      </FieldSet>
    </Page>
  </Document>
)
