/** Templates that are taken, and Templates that are refused. */
import type { JsonObject } from '@platen/contract/brand.ts'
import { CONSTANT, many, type Row, refused, taken } from './row.ts'

const tenantRef = { name: 'acme' }
const reactPdf = { source: { inline: 'x' } }
const html = { template: { inline: '<p>' } }
const template = { tenantRef, reactPdf }
const logo = { name: 'logo.png', inline: 'QUJD' }
const inter = { family: 'Inter', asset: 'logo.png' }
const options = (given: JsonObject) => ({ ...template, options: given })

export const TEMPLATE_ROWS: readonly Row[] = [
  taken('of TSX', template),
  taken('of HTML', { tenantRef, html }),
  taken('with everything', {
    tenantRef,
    code: 'invoice_a4',
    name: 'Invoice',
    version: Number.MAX_SAFE_INTEGER,
    published: false,
    engine: 'html',
    variablesSchema: { type: 'object', properties: { number: { type: 'string' } } },
    reactPdf: { source: { configMapKeyRef: { name: 'sources', key: 'invoice.tsx' } } },
    html: { ...html, header: { inline: '<p>' }, footer: { inline: '<p>' }, javascript: true },
    options: { page_size: 'A4', orientation: 'landscape', margin: '12mm' },
    locale: 'zh-Hant-TW',
    assets: [logo, { name: 'a.ttf', configMapKeyRef: { name: 'files', key: 'a.ttf' } }],
    fonts: [inter, { family: 'Inter', weight: 700, style: 'italic', asset: 'a.ttf' }],
    egress: { allowedHosts: ['img.example.com'] },
    sampleData: { number: '1', rows: [null] },
  }),
  refused('without a source', { tenantRef }, { field: 'spec', says: 'needs reactPdf, html or both' }),
  refused('without a tenant', { reactPdf }, { field: 'spec.tenantRef', says: 'Required value' }),
  refused(
    'of an engine that it has no source for',
    { ...template, engine: 'html' },
    { field: 'spec.engine', says: 'names an engine the template has no source for' },
  ),
  refused(
    'of the other engine that it has no source for',
    { tenantRef, html, engine: 'react_pdf' },
    { field: 'spec.engine', says: 'names an engine the template has no source for' },
  ),
  refused(
    'of an engine that there is not',
    { ...template, engine: 'latex' },
    { field: 'spec.engine', says: 'Unsupported value' },
  ),
  refused(
    'with a source that is nowhere',
    { tenantRef, reactPdf: { source: {} } },
    { field: 'spec.reactPdf.source', says: 'at least 1 properties' },
  ),
  refused(
    'with a source in two places',
    { tenantRef, html: { template: { inline: 'x', configMapKeyRef: { name: 'a', key: 'b' } } } },
    { field: 'spec.html.template', says: 'at most 1' },
  ),
  taken('with a source of 128 KiB', { tenantRef, reactPdf: { source: { inline: 'a'.repeat(131_072) } } }),
  refused(
    'with a source over 128 KiB',
    { tenantRef, reactPdf: { source: { inline: 'a'.repeat(131_073) } } },
    { field: 'spec.reactPdf.source.inline', says: '131072' },
  ),
  refused(
    'with an empty source',
    { tenantRef, reactPdf: { source: { inline: '' } } },
    { field: 'spec.reactPdf.source.inline', says: 'at least 1 chars' },
  ),
  refused(
    'with a header and no document',
    { tenantRef, html: { header: { inline: 'x' } } },
    { field: 'spec.html.template', says: 'Required value' },
  ),
  refused(
    'with a source of an URL',
    { tenantRef, reactPdf: { source: { url: 'https://a.example' } } },
    { field: 'spec.reactPdf.source.url', says: 'unknown field' },
  ),
  refused('with a code that is none', { ...template, code: 'Invoice' }, { field: 'spec.code', says: 'should match' }),
  refused('with too long a code', { ...template, code: 'a'.repeat(129) }, { field: 'spec.code', says: '128' }),
  refused('with a name that is no code, and no code', template, {
    field: 'spec.code',
    says: 'is required, as the metadata.name is no template code',
    metadata: { name: 'a.b' },
  }),
  refused('with a name that is too long for a code, and no code', template, {
    field: 'spec.code',
    says: 'is required, as the metadata.name is no template code',
    metadata: { name: 'a'.repeat(129) },
  }),
  taken('with a name that is no code, and a code', { ...template, code: 'a' }, { metadata: { name: 'a.b' } }),
  refused('of no version', { ...template, version: 0 }, { field: 'spec.version', says: 'greater than or equal to 1' }),
  refused(
    'with a schema that is no mapping',
    { ...template, variablesSchema: true },
    { field: 'spec.variablesSchema', says: 'must be of type object' },
  ),
  refused(
    'with a sample that is no mapping',
    { ...template, sampleData: [] },
    { field: 'spec.sampleData', says: 'must be of type object' },
  ),
  taken('with a page of its own', options({ page_size: { width: 28, height: 14_400 } })),
  refused('with a page of no such size', options({ page_size: 'A7' }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
  }),
  refused('with a page of one side', options({ page_size: { width: 100 } }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
    ours: 'spec.options.page_size.height',
  }),
  refused('with a page of three sides', options({ page_size: { width: 100, height: 100, depth: 1 } }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
    ours: 'spec.options.page_size.depth',
  }),
  refused('with too small a page', options({ page_size: { width: 27, height: 100 } }), {
    field: 'spec.options.page_size.width',
    says: 'greater than or equal to 28',
  }),
  refused('with a page of a number', options({ page_size: 595 }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
  }),
  refused('with a page that is true', options({ page_size: true }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
  }),
  refused('with a page of a list', options({ page_size: ['A4'] }), {
    field: 'spec.options.page_size',
    says: 'Unsupported value',
  }),
  taken('with a margin of points', options({ margin: 36.5 })),
  taken('with margins at two sides', options({ margin: { top: 0, left: '1.5in' } })),
  taken('with margins at no side', options({ margin: {} })),
  refused('with a margin without a unit', options({ margin: '12' }), {
    field: 'spec.options.margin',
    says: 'should match',
  }),
  refused('with a negative margin', options({ margin: -1 }), {
    field: 'spec.options.margin',
    says: 'greater than or equal to 0',
  }),
  refused('with too large a margin', options({ margin: { top: 14_401 } }), {
    field: 'spec.options.margin.top',
    says: 'less than or equal to 14400',
  }),
  refused('with a margin at no side there is', options({ margin: { top: 1, inner: 1 } }), {
    field: 'spec.options.margin',
    says: 'must validate at least one schema',
    ours: 'spec.options.margin.inner',
  }),
  refused('with a margin that is true', options({ margin: true }), {
    field: 'spec.options.margin',
    says: 'must not validate the schema',
  }),
  refused('with a margin that is a list', options({ margin: { top: [1] } }), {
    field: 'spec.options.margin.top',
    says: 'at most 0 items',
  }),
  refused('with a margin in a margin', options({ margin: { top: { top: 1 } } }), {
    field: 'spec.options.margin.top',
    says: 'at most 0 items',
  }),
  refused('with a file name', options({ filename: 'a.pdf' }), {
    field: 'spec.options.filename',
    says: 'unknown field',
  }),
  refused('on its side', options({ orientation: 'upright' }), {
    field: 'spec.options.orientation',
    says: 'Unsupported value',
  }),
  refused(
    'of a language with an underscore',
    { ...template, locale: 'pl_PL' },
    { field: 'spec.locale', says: 'should match' },
  ),
  refused(
    'of a language that there cannot be',
    { ...template, locale: 'a-b' },
    { field: 'spec.locale', says: 'should match' },
  ),
  refused(
    'of a language with the same variant twice',
    { ...template, locale: 'de-1996-1996' },
    { field: 'spec.locale', says: 'is no language tag', unsaid: 'a pattern compares nothing' },
  ),
  refused(
    'with an asset twice',
    { ...template, assets: [logo, logo] },
    { field: 'spec.assets[1]', says: 'Duplicate value', ours: 'spec.assets[1].name' },
  ),
  refused(
    'with an asset that is nowhere',
    { ...template, assets: [{ name: 'a' }] },
    { field: 'spec.assets[0]', says: 'needs inline or configMapKeyRef, and not both' },
  ),
  refused(
    'with an asset in two places',
    { ...template, assets: [{ ...logo, configMapKeyRef: { name: 'a', key: 'b' } }] },
    { field: 'spec.assets[0]', says: 'needs inline or configMapKeyRef, and not both' },
  ),
  refused(
    'with an asset that is no base64',
    { ...template, assets: [{ name: 'a', inline: 'QU-_' }] },
    { field: 'spec.assets[0].inline', says: 'should match' },
  ),
  refused(
    'with an asset without a name',
    { ...template, assets: [{ inline: 'QUJD' }] },
    { field: 'spec.assets[0].name', says: 'Required value' },
  ),
  refused(
    'with an asset of a path',
    { ...template, assets: [{ ...logo, name: 'a/b.png' }] },
    { field: 'spec.assets[0].name', says: 'should match' },
  ),
  taken('with 128 KiB of assets', {
    ...template,
    assets: [
      { name: 'a', inline: 'A'.repeat(131_068) },
      { name: 'b', inline: 'QUJD' },
    ],
  }),
  refused(
    'with assets over 128 KiB in all',
    {
      ...template,
      assets: [
        { name: 'a', inline: 'A'.repeat(131_072) },
        { name: 'b', inline: 'QUJD' },
      ],
    },
    { field: 'spec.assets', says: 'may have 131072 bytes inline in all: keep them in a ConfigMap' },
  ),
  refused(
    'with 65 assets',
    { ...template, assets: many(65, (at) => ({ ...logo, name: `a${at}` })) },
    { field: 'spec.assets', says: 'at most 64 items' },
  ),
  refused(
    'with a font of no asset',
    { ...template, fonts: [inter] },
    { field: 'spec.fonts', says: 'names none of the assets', ours: 'spec.fonts[0].asset' },
  ),
  refused(
    'with a font twice',
    { ...template, assets: [logo], fonts: [inter, { ...inter, weight: 400, style: 'normal' }] },
    { field: 'spec.fonts', says: 'is the family, weight and style of a font before it', ours: 'spec.fonts[1]' },
  ),
  taken('with 64 fonts of 64 assets', {
    ...template,
    assets: many(64, (at) => ({ ...logo, name: `a${at}` })),
    fonts: many(64, (at) => ({ family: 'F'.repeat(100), weight: at + 1, asset: `a${at}` })),
  }),
  refused(
    'with a slanted font',
    { ...template, assets: [logo], fonts: [{ ...inter, style: 'oblique' }] },
    { field: 'spec.fonts[0].style', says: 'Unsupported value' },
  ),
  refused(
    'that fetches of an URL',
    { ...template, egress: { allowedHosts: ['https://a.example'] } },
    { field: 'spec.egress.allowedHosts[0]', says: 'should match' },
  ),
  refused(
    'that fetches of a host twice',
    { ...template, egress: { allowedHosts: ['a.example', 'a.example'] } },
    { field: 'spec.egress.allowedHosts[1]', says: 'Duplicate value', ours: 'spec.egress.allowedHosts' },
  ),
  refused(
    'that fetches of 33 hosts',
    { ...template, egress: { allowedHosts: many(33, (at) => `h${at}.example`) } },
    { field: 'spec.egress.allowedHosts', says: 'at most 32 items' },
  ),
  refused(
    'that goes to another tenant',
    { tenantRef: { name: 'globex' }, reactPdf },
    { field: 'spec.tenantRef.name', says: CONSTANT, before: template },
  ),
  taken('whose version goes up', { ...template, version: 2 }, { before: template }),
  taken('whose version stays', { ...template, version: 3, code: 'other' }, { before: { ...template, version: 3 } }),
  refused(
    'whose version goes down',
    { ...template, version: 2 },
    { field: 'spec.version', says: 'may not go down', before: { ...template, version: 3 } },
  ),
  refused('whose version goes', template, {
    field: 'spec.version',
    says: 'may not go down',
    before: { ...template, version: 2 },
  }),
]
