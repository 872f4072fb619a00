import React, { Children, cloneElement, createElement, Fragment, forwardRef, isValidElement, memo } from 'react'
import type { ReactNode } from 'react'
import ReactPDF, * as PDF from '@react-pdf/renderer'
import { Document, Page, Text, View, type Styles } from '@react-pdf/renderer'

interface Line {
  readonly name: string
  readonly price?: number
}

enum Level {
  Low = 1,
  High,
}

const Sheet = ({ title = 'untitled', children }: { title?: string; children?: ReactNode }) => (
  <Document>
    <Page size="A6" style={{ padding: 20, fontSize: 10 }}>
      <Text>{title}</Text>
      {children}
    </Page>
  </Document>
)

const first = <Item,>(items: readonly Item[]): Item | undefined => items[0]
const COLOURS = { low: 'green', high: 'red' } as const satisfies Record<string, string>

export const Types = ({ data }: { data: { lines: Line[] } }) => {
  const lines: Line[] = [{ name: 'a', price: 1 }, { name: 'b' }]
  const known = first<Line>(lines)!
  const level = Level.High as number
  return (
    <Sheet title={`level ${Level[level]}`}>
      <Text style={{ color: COLOURS.high }}>{known.name}</Text>
      <Text>{(lines as unknown as Line[]).map(({ name, price = 0 }) => `${name}:${price}`).join(' ')}</Text>
    </Sheet>
  )
}

export const Fragments = () => (
  <Sheet>
    <>
      <Text>one</Text>
      <Fragment key="two">
        <Text>two</Text>
        {[<Text key="three">three</Text>, [<Text key="four">four</Text>]]}
      </Fragment>
    </>
    {null}
    {undefined}
    {true}
    {''}
  </Sheet>
)

const Numbered = ({ children }) => (
  <View>
    {Children.map(children, (child, index) => (
      <View style={{ flexDirection: 'row' }}>
        <Text>{index + 1}. </Text>
        {child}
      </View>
    ))}
    <Text>{Children.count(children)} in all</Text>
    <Text>{Children.toArray(children).length} of them elements</Text>
  </View>
)

export const ChildrenOfAComponent = () => (
  <Sheet>
    <Numbered>
      <Text>first</Text>
      <Text>second</Text>
      {['third', 'fourth'].map((name) => (
        <Text key={name}>{name}</Text>
      ))}
    </Numbered>
  </Sheet>
)

const Cell = memo(({ label, ...rest }: { label: string; [name: string]: unknown }) => <Text {...rest}>{label}</Text>)
const Boxed = forwardRef(({ children }, _ref) => <View style={{ border: '1pt solid black' }}>{children}</View>)

export const Composition = () => (
  <Sheet>
    <Boxed>
      <Cell label="memo" style={{ color: 'red' }} />
      {cloneElement(<Cell label="original" />, { label: 'cloned' })}
      {isValidElement(<Cell label="x" />) ? <Cell label="valid" /> : null}
    </Boxed>
    {[1, 2, 3].filter((value) => value > 1).map((value) => (
      <Cell key={value} label={String(value)} />
    ))}
  </Sheet>
)

export const WithoutJsx = () =>
  createElement(
    PDF.Document,
    null,
    createElement(PDF.Page, { size: 'A6' }, createElement(Text, null, 'made ', 'by ', 'hand'), React.createElement(View)),
  )

export const Namespaces = () => (
  <PDF.Document>
    <PDF.Page size="A6">
      <PDF.Text>by way of a namespace</PDF.Text>
    </PDF.Page>
  </PDF.Document>
)

const recipe = { render: (count: number) => (count === 0 ? null : <Text>{count}</Text>) }

function* numbers(count: number) {
  for (let number = 1; number <= count; number += 1) yield <Text key={number}>generated {number}</Text>
}

class Money {
  #cents: number
  constructor(cents: number) {
    this.#cents = cents
  }
  get text() {
    return `${(this.#cents / 100).toFixed(2)} EUR`
  }
}

export const ModernLanguage = ({ data }) => (
  <Sheet title={data?.nothing?.here ?? 'optional'}>
    {recipe.render(3)}
    {recipe.render(0)}
    {[...numbers(2)]}
    <Text>{new Money(1999).text}</Text>
    <Text>{Object.entries(Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'))).map(([k, v]) => `${k} ${v}`).join()}</Text>
    <Text>{[3, 1, 2].toSorted().at(-1)}</Text>
    <Text>{'a-b-c'.replaceAll('-', '+')}</Text>
    <Text>{1_000_000n.toString()}</Text>
  </Sheet>
)

export const LocalNumbers = () => (
  <Sheet>
    <Text>{new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5)}</Text>
    <Text>{(1234.5).toLocaleString('pl-PL')}</Text>
    <Text>{new Date(Date.UTC(2026, 10, 21)).toLocaleDateString('en-GB', { timeZone: 'UTC', dateStyle: 'full' })}</Text>
    <Text>{new Intl.PluralRules('pl-PL').select(5)}</Text>
    <Text>{new Intl.ListFormat('de-DE', { type: 'conjunction' }).format(['a', 'b', 'c'])}</Text>
    <Text>{new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' }).format(-1, 'day')}</Text>
    <Text>{new Intl.DisplayNames('en-US', { type: 'region' }).of('PL')}</Text>
    <Text>{['ö', 'z', 'a'].sort(new Intl.Collator('de-DE').compare).join('')}</Text>
    <Text>{['ö', 'z', 'a'].sort((one, other) => one.localeCompare(other, 'sv-SE')).join('')}</Text>
  </Sheet>
)
