/** Tenants share nothing: what one document leaves, no other finds. The pairs are data; this runs and judges them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Asset, FontReference } from '@platen/contract/domain/tenant.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { aWork as anHtmlWork, colourAt, fontsOf, textOf, type WorkParts } from '../../engine/html/html-fixture.ts'
import { aWork as aReactPdfWork } from '../../engine/react-pdf/react-pdf-fixture.ts'
import { aFont, aFontOf, anAsset, aSquare, BLUE, type Colour, RED } from '../../fixture/asset.ts'
import { shared } from '../../fixture/lifetime.ts'
import type { RenderWorkFields } from '../../fixture/render/work.ts'
import { type HostileNetwork, openNetwork } from '../network/network.ts'
import type { Leaving } from '../network/unguarded.ts'

interface Pair {
  readonly name: string
  /** Code that leaves something, and code that looks for it. */
  readonly leave: string
  readonly look: string
}

const HTML = read('html') as readonly (Pair & Pick<Leaving, 'kept'>)[]
const REACT_PDF = read('react-pdf') as readonly Pair[]

/** Below it the corpus has lost something. */
const PAIRS_MIN = 49

function read(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8'))
}

const network = shared(() => openNetwork())

test('the corpus is as large as it was', () => {
  const names = [...HTML.map(({ name }) => `html: ${name}`), ...REACT_PDF.map(({ name }) => `react_pdf: ${name}`)]
  expect(names.length).toBeGreaterThanOrEqual(PAIRS_MIN)
  expect(new Set(names).size).toBe(names.length)
})

/** Renders a document that must come out. */
async function rendered(...[engine, work]: Parameters<HostileNetwork['render']>): Promise<Uint8Array> {
  const ending = await network().render(engine, work)
  if (!('pdf' in ending)) throw new Error(`${ending.code}: ${ending.message}`)
  return ending.pdf
}

describe('a document with page JavaScript finds nothing another has left:', () => {
  /** The frame holds up the end of loading for a fifth of a second, in which both documents are at work. */
  const aPage = (code: string) => `<body>found: <iframe id="wait" hidden></iframe><script>
    {
      const { contentDocument } = document.getElementById('wait')
      contentDocument.open()
      setTimeout(() => contentDocument.close(), 200)
      const tell = (...values) => document.body.append(...values.map((value) => value ?? ''))
      try { ${code}\n } catch {}
    }
  </script>`
  const scripted = (html: string, tenant: string) => {
    const parts: WorkParts = { tenant, javascript: true, javascriptEnabled: true, data: { html } }
    return anHtmlWork('<!doctype html>{{ html | raw }}', parts)
  }
  let bare: readonly string[] = []

  beforeAll(async () => {
    bare = await network().findLeft(
      HTML.map(({ leave, look, kept }) => ({ leave: aPage(leave), look: aPage(look), kept })),
    )
  })

  test.for(HTML.map((pair, at) => [pair.name, pair, at] as const))('%s', async ([, { leave, look }, at]) => {
    expect(bare[at]).toContain('LEFT')
    const [left, looking] = [scripted(aPage(leave), 'leaver'), scripted(aPage(look), 'looker')]
    // Of another tenant at the same time, and after it of another and of the same.
    const [, beside] = await Promise.all([rendered('html', left), rendered('html', looking)])
    const own = scripted(aPage(look), 'leaver')
    const after = await Promise.all([rendered('html', looking), rendered('html', own)])
    expect([beside, ...after].map(textOf)).toEqual(['found:', 'found:', 'found:'])
  })
})

describe('a react_pdf template finds nothing another has left in its thread:', () => {
  const aModule = (leave: string, look: string) => `import React from 'react'
import { Document, Page, StyleSheet, Text, View } from '@react-pdf/renderer'
${leave}
const found = (data) => { try { return ${look} } catch { return '' } }
export default ({ data }) => <Document><Page><Text>found: {String(found(data) ?? '')}</Text></Page></Document>`
  const aTenants = (tenant: string, source: string) => aReactPdfWork({ tenant, source })

  test.for(REACT_PDF)('$name', async ({ leave, look }) => {
    const [both, looking] = [aModule(leave, look), aModule('', look)]
    const first = await rendered('react_pdf', aTenants('leaver', both))
    expect(textOf(first)).toBe('found: LEFT')
    const after = await rendered('react_pdf', aTenants('looker', looking))
    const own = await rendered('react_pdf', aTenants('leaver', looking))
    expect([after, own].map(textOf)).toEqual(['found:', 'found:'])
    const again = await rendered('react_pdf', aTenants('leaver', both))
    expect(Buffer.from(again).equals(first)).toBe(true)
  })
})

describe('of two tenants, each gets its own files', () => {
  const face: FontReference = { family: 'Brand', weight: 400, style: 'normal', asset: 'brand.ttf' }
  const files = (colour: Colour, font: string): readonly Asset[] => [
    anAsset('logo.png', aSquare(colour)),
    aFont(font, 'brand.ttf'),
  ]
  const red = files(RED, 'brand-regular.ttf')
  const blue = files(BLUE, 'brand-bold.ttf')
  /** As no two files ever have: what is kept by its digest alone would be another tenant's. */
  const forged = blue.map((asset, at) => ({ ...asset, digest: red[at]?.digest ?? asset.digest }))
  const html = (address: string) =>
    `<!doctype html><style>@page { margin: 0 } body { margin: 0; font-family: Brand }</style>
      <img src="${address}" style="display: block; width: 200px; height: 200px">text 𒀀`
  const page = `<Page><Image src="asset:logo.png" style={{ width: 150, height: 150 }} /><Text style={{ fontFamily: 'Brand' }}>text</Text></Page>`
  const template = { fonts: [face] }

  // Chromium asks for the first by its digest, and for the second by its name.
  const kinds = [
    ['html', 'html', (own: RenderWorkFields) => anHtmlWork(html('asset:logo.png'), { template, ...own })],
    ['html by name', 'html', (own: RenderWorkFields) => anHtmlWork(html('&#97;sset:logo.png'), { template, ...own })],
    ['react_pdf', 'react_pdf', (own: RenderWorkFields) => aReactPdfWork({ document: page, template, ...own })],
  ] as const

  test.for(kinds)('under one name, in %s', async ([, engine, workOf]) => {
    const seen: unknown[] = []
    for (const [tenant, assets] of [
      ['a', red],
      ['b', blue],
      ['a', red],
      ['a', blue],
      ['c', forged],
    ] as const) {
      const pdf = await rendered(engine, workOf({ tenant, assets }))
      seen.push([colourAt(pdf, 30, 30), fontsOf(pdf)[0]?.replace(/-[0-9a-f]{8}$/, '')])
    }
    const [ofRed, ofBlue] = [
      [RED, 'PlatenBrand-Regular'],
      [BLUE, 'PlatenBrand-Bold'],
    ]
    expect(seen).toEqual([ofRed, ofBlue, ofRed, ofBlue, ofBlue])
  })

  test.for(kinds)('and without files none of the other, in %s', async ([, engine, workOf]) => {
    await rendered(engine, workOf({ tenant: 'a', assets: red }))
    const none = { code: 'asset_unavailable' }
    expect(await network().render(engine, workOf({ tenant: 'b' }))).toMatchObject(none)
    const bare = workOf({ tenant: 'b', template: {} })
    expect(await network().render(engine, bare)).toMatchObject({
      code: expect.stringMatching(/^(?:asset_unavailable|template_error)$/),
    })
  })

  test('and is warned of the letters its own font has not', async () => {
    const warningsOf = async (tenant: string, asset: Asset) => {
      const work = anHtmlWork('<p style="font-family: Brand">𒀀', { tenant, template, assets: [asset] })
      const ending = await network().render('html', work)
      return 'pdf' in ending ? ending.warnings.map(({ code }) => code) : ending
    }
    const [having, lacking] = [anAsset('brand.ttf', aFontOf('𒀀')), anAsset('brand.ttf', aFontOf('𒀁'))]
    expect(await warningsOf('a', having)).toEqual([])
    expect(await warningsOf('b', { ...lacking, digest: having.digest })).toEqual(['missing_glyph'])
  })
})
