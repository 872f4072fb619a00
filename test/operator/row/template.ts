/** Templates that are taken, and Templates that are refused. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { CONSTANT, many, type Row, refused, refusedFor, taken } from './row.ts'

const tenantRef = { name: 'acme' }
const reactPdf = { source: { inline: 'x' } }
const html = { template: { inline: '<p>' } }
const template = { tenantRef, reactPdf }
const logo = { name: 'logo.png', inline: 'QUJD' }
const inter = { family: 'Inter', asset: 'logo.png' }
const options = (given: JsonObject) => ({ ...template, options: given })

export const TEMPLATE_ROWS: readonly Row[] = [
  taken('of TSX', template),
  taken('of HTML', { tenantRef, engine: 'Html', html }),
  refused(
    'of HTML alone that names no engine',
    { tenantRef, html },
    {
      field: 'spec.engine',
      says: 'must be Html, because the template has only an html source; the default is ReactPdf',
    },
  ),
  taken('with everything', {
    tenantRef,
    code: 'invoice_a4',
    displayName: 'Invoice',
    version: Number.MAX_SAFE_INTEGER,
    published: false,
    engine: 'Html',
    variablesSchema: { type: 'object', properties: { number: { type: 'string' } } },
    reactPdf: { source: { configMapKeyRef: { name: 'sources', key: 'invoice.tsx' } } },
    html: { ...html, header: { inline: '<p>' }, footer: { inline: '<p>' }, javascriptEnabled: true },
    options: { pageSize: 'A4', orientation: 'Landscape', margin: '12mm' },
    strict: true,
    locale: 'zh-Hant-TW',
    assets: [logo, { name: 'a.ttf', configMapKeyRef: { name: 'files', key: 'a.ttf' } }],
    fonts: [inter, { family: 'Inter', weight: 700, style: 'Italic', asset: 'a.ttf' }],
    egress: { allowedHosts: ['img.example.com'] },
    sampleData: { number: '1', rows: [null] },
  }),
  refused('without a source', { tenantRef }, { field: 'spec', says: 'needs reactPdf, html or both' }),
  refused('without a tenant', { reactPdf }, { field: 'spec.tenantRef', says: 'Required value' }),
  refused(
    'of the other engine that it has no source for',
    { tenantRef, html, engine: 'ReactPdf' },
    { field: 'spec.engine', says: 'must be Html, because the template has only an html source' },
  ),
  taken('with a source of 128 KiB', { tenantRef, reactPdf: { source: { inline: 'a'.repeat(131_072) } } }),
  refused('with a name that is no code, and no code', template, {
    field: 'spec.code',
    says: 'is required, because metadata.name is not a valid template code',
    metadata: { name: 'a.b' },
  }),
  refused('with a name that is too long for a code, and no code', template, {
    field: 'spec.code',
    says: 'is required, because metadata.name is not a valid template code',
    metadata: { name: 'a'.repeat(129) },
  }),
  taken('with a name that is no code, and a code', { ...template, code: 'a' }, { metadata: { name: 'a.b' } }),
  taken('with a page of its own', options({ pageSize: { width: 28, height: 14_400 } })),
  taken('with a margin of points', options({ margin: 36.5 })),
  taken('with margins at two sides', options({ margin: { top: 0, left: '1.5in' } })),
  taken('with margins at no side', options({ margin: {} })),
  refused(
    'of a language with the same variant twice',
    { ...template, locale: 'de-1996-1996' },
    { field: 'spec.locale', says: 'is no language tag', unsaid: 'a pattern compares nothing' },
  ),
  taken('with 128 KiB of assets', {
    ...template,
    assets: [
      { name: 'a', inline: 'A'.repeat(131_068) },
      { name: 'b', inline: 'QUJD' },
    ],
  }),
  refused(
    'with a font twice',
    { ...template, assets: [logo], fonts: [inter, { ...inter, weight: 400, style: 'Normal' }] },
    { field: 'spec.fonts', says: 'has the same family, weight and style as a font before it', ours: 'spec.fonts[1]' },
  ),
  taken('with 64 fonts of 64 assets', {
    ...template,
    assets: many(64, (at) => ({ ...logo, name: `a${at}` })),
    fonts: many(64, (at) => ({ family: 'F'.repeat(100), weight: at + 1, asset: `a${at}` })),
  }),
  refused(
    'with a slanted font',
    { ...template, assets: [logo], fonts: [{ ...inter, style: 'Oblique' }] },
    { field: 'spec.fonts[0].style', says: 'Unsupported value' },
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
    { field: 'spec.version', says: 'cannot be decreased', before: { ...template, version: 3 } },
  ),
  refused('whose version goes', template, {
    field: 'spec.version',
    says: 'cannot be decreased',
    before: { ...template, version: 2 },
  }),
  ...refusedFor(template, [
    ['of an engine that it has no source for', 'engine', 'Html', 'must be ReactPdf, because the template has only'],
    ['of an engine that there is not', 'engine', 'react_pdf', 'Unsupported value'],
    ['with a code that is none', 'code', 'Invoice', 'should match'],
    ['with too long a code', 'code', 'a'.repeat(129), '128'],
    ['of no version', 'version', 0, 'greater than or equal to 1'],
    ['with a schema that is no mapping', 'variablesSchema', true, 'must be of type object'],
    ['with a sample that is no mapping', 'sampleData', [], 'must be of type object'],
    ['with a page of no such size', 'options.pageSize', { pageSize: 'A7' }, 'Unsupported value'],
    [
      'with a page of one side',
      'options.pageSize',
      { pageSize: { width: 100 } },
      'Unsupported value',
      'options.pageSize.height',
    ],
    [
      'with a page of three sides',
      'options.pageSize',
      { pageSize: { width: 100, height: 100, depth: 1 } },
      'Unsupported value',
      'options.pageSize.depth',
    ],
    [
      'with too small a page',
      'options.pageSize.width',
      { pageSize: { width: 27, height: 100 } },
      'greater than or equal to 28',
    ],
    ['with a page of a number', 'options.pageSize', { pageSize: 595 }, 'Unsupported value'],
    ['with a page that is true', 'options.pageSize', { pageSize: true }, 'Unsupported value'],
    ['with a page of a list', 'options.pageSize', { pageSize: ['A4'] }, 'Unsupported value'],
    ['with a margin without a unit', 'options.margin', { margin: '12' }, 'should match'],
    ['with a negative margin', 'options.margin', { margin: -1 }, 'greater than or equal to 0'],
    ['with too large a margin', 'options.margin.top', { margin: { top: 14_401 } }, 'less than or equal to 14400'],
    [
      'with a margin at no side there is',
      'options.margin',
      { margin: { top: 1, inner: 1 } },
      'must validate at least one schema',
      'options.margin.inner',
    ],
    ['with a margin that is true', 'options.margin', { margin: true }, 'must not validate the schema'],
    ['with a margin that is a list', 'options.margin.top', { margin: { top: [1] } }, 'at most 0 items'],
    ['with a margin in a margin', 'options.margin.top', { margin: { top: { top: 1 } } }, 'at most 0 items'],
    ['with a file name', 'options.filename', { filename: 'a.pdf' }, 'unknown field'],
    ['on its side', 'options.orientation', { orientation: 'upright' }, 'Unsupported value'],
    ['of a language with an underscore', 'locale', 'pl_PL', 'should match'],
    ['of a language that there cannot be', 'locale', 'a-b', 'should match'],
    ['with an asset twice', 'assets[1]', [logo, logo], 'Duplicate value', 'assets[1].name'],
    ['with an asset that is nowhere', 'assets[0]', [{ name: 'a' }], 'needs either inline or configMapKeyRef, not both'],
    [
      'with an asset in two places',
      'assets[0]',
      [{ ...logo, configMapKeyRef: { name: 'a', key: 'b' } }],
      'needs either inline or configMapKeyRef, not both',
    ],
    ['with an asset that is no base64', 'assets[0].inline', [{ name: 'a', inline: 'QU-_' }], 'should match'],
    ['with an asset without a name', 'assets[0].name', [{ inline: 'QUJD' }], 'Required value'],
    ['with an asset of a path', 'assets[0].name', [{ ...logo, name: 'a/b.png' }], 'should match'],
    [
      'with assets over 128 KiB in all',
      'assets',
      [
        { name: 'a', inline: 'A'.repeat(131_072) },
        { name: 'b', inline: 'QUJD' },
      ],
      'must have at most 131072 bytes inline in total: keep larger assets in a ConfigMap',
    ],
    ['with 65 assets', 'assets', many(65, (at) => ({ ...logo, name: `a${at}` })), 'at most 64 items'],
    ['with a font of no asset', 'fonts', [inter], 'names none of the assets', 'fonts[0].asset'],
    ['that fetches of an URL', 'egress.allowedHosts[0]', { allowedHosts: ['https://a.example'] }, 'should match'],
    [
      'that fetches of a host twice',
      'egress.allowedHosts[1]',
      { allowedHosts: ['a.example', 'a.example'] },
      'Duplicate value',
      'egress.allowedHosts',
    ],
    [
      'that fetches of 33 hosts',
      'egress.allowedHosts',
      { allowedHosts: many(33, (at) => `h${at}.example`) },
      'at most 32 items',
    ],
  ]),
  ...refusedFor({ tenantRef }, [
    ['with a source that is nowhere', 'reactPdf.source', { source: {} }, 'at least 1 properties'],
    [
      'with a source in two places',
      'html.template',
      { template: { inline: 'x', configMapKeyRef: { name: 'a', key: 'b' } } },
      'at most 1',
    ],
    ['with a source over 128 KiB', 'reactPdf.source.inline', { source: { inline: 'a'.repeat(131_073) } }, '131072'],
    ['with an empty source', 'reactPdf.source.inline', { source: { inline: '' } }, 'at least 1 chars'],
    ['with a header and no document', 'html.template', { header: { inline: 'x' } }, 'Required value'],
    ['with a source of an URL', 'reactPdf.source.url', { source: { url: 'https://a.example' } }, 'unknown field'],
  ]),
]
