/**
 * Options of a document that a template and a request may set. One schema validates them, gives the types, and is part of the OpenAPI
 * document; the options of a Template are made from it.
 */
import type { FromSchema } from 'json-schema-to-ts'
import { FILENAME_CHARS_MAX, PAGE_SIDE_PT_MAX, PAGE_SIDE_PT_MIN } from './limit.ts'

/** A time with nanoseconds and an offset. */
const DATE_CHARS_MAX = 35

/** Real ones are shorter. */
const LOCALE_CHARS_MAX = 35
const TIME_ZONE_CHARS_MAX = 64

export const ENGINES = ['react_pdf', 'html'] as const
export type Engine = (typeof ENGINES)[number]

export const PAGE_SIZES = ['A3', 'A4', 'A5', 'A6', 'LETTER', 'LEGAL', 'TABLOID'] as const

/** The units that both engines know. */
const POINTS_PER_UNIT = { pt: 1, px: 0.75, mm: 72 / 25.4, cm: 72 / 2.54, in: 72 } as const

const length = {
  title: 'Length',
  type: ['number', 'string'],
  minimum: 0,
  maximum: PAGE_SIDE_PT_MAX,
  pattern: '^\\d{1,5}(\\.\\d{1,4})?(pt|px|mm|cm|in)$',
  description: 'Points, or a CSS length in pt, px, mm, cm or in.',
} as const

const pageSide = { type: 'number', minimum: PAGE_SIDE_PT_MIN, maximum: PAGE_SIDE_PT_MAX } as const

/**
 * Refuses control characters, characters with a meaning to a file system or a header, and those that change the direction of text, which
 * would show `invoice-fdp.exe` as `invoice-exe.pdf`. Refuses names of dots alone, which mean folders.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const FILENAME_PATTERN =
  '^(?![. ]+$)[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069/\\\\:*?"<>|]+$'

const FILENAME_FORM =
  'A file name without a folder, control characters and \\ : * ? " < > |. If it does not end in .pdf, that is added.'

/** Four digits of the year, in UTC too, and no leap second, which `Date` does not know. */
const DATE_PATTERN = '^[12]\\d{3}-.{11}:[0-5]\\d(\\.\\d+)?(Z|[+-]\\d{2}:\\d{2})$'

const DATE_FORM = 'A time by RFC 3339 with its offset, such as 2026-11-25T12:00:00Z, from 1000 to 2999.'

/** As spelled on the wire: options of one request, or a template's defaults. */
export const renderOptionsSchema = {
  title: 'RenderOptions',
  type: 'object',
  additionalProperties: false,
  properties: {
    page_size: {
      anyOf: [
        { title: 'PageSizeName', type: 'string', enum: PAGE_SIZES },
        {
          title: 'CustomPageSize',
          type: 'object',
          additionalProperties: false,
          required: ['width', 'height'],
          properties: { width: pageSide, height: pageSide },
        },
      ],
      description: 'A named size, or width and height in points.',
    },
    orientation: { title: 'Orientation', type: 'string', enum: ['portrait', 'landscape'] },
    margin: {
      anyOf: [
        length,
        {
          title: 'Margin',
          type: 'object',
          additionalProperties: false,
          properties: { top: length, right: length, bottom: length, left: length },
        },
      ],
      description: 'One length for all sides, or an object with a length for each side.',
    },
    filename: {
      type: 'string',
      minLength: 1,
      maxLength: FILENAME_CHARS_MAX,
      pattern: FILENAME_PATTERN,
      description: FILENAME_FORM,
    },
    locale: {
      type: 'string',
      maxLength: LOCALE_CHARS_MAX,
      format: 'language-tag',
      description: 'Language tag such as pl-PL. Numbers and dates are written for it if the source names no locale.',
    },
    time_zone: {
      type: 'string',
      maxLength: TIME_ZONE_CHARS_MAX,
      format: 'time-zone',
      description:
        'IANA time zone such as Europe/Warsaw. Dates are written in it if the source names none. Default is UTC.',
    },
    date: {
      type: 'string',
      format: 'date-time',
      maxLength: DATE_CHARS_MAX,
      pattern: DATE_PATTERN,
      description: `${DATE_FORM} The PDF says that it was created and changed then. Default is the time at which the render was accepted.`,
    },
    strict: {
      type: 'boolean',
      description:
        'True fails the render with document_warnings if the document has a warning. A template or plan that is strict stays so, whatever the request says.',
    },
  },
} as const

export type RenderOptions = Readonly<FromSchema<typeof renderOptionsSchema>>
export type PageSize = NonNullable<RenderOptions['page_size']>
export type Orientation = NonNullable<RenderOptions['orientation']>
/** A length for each side. A number is points; a string is a CSS length such as `12mm`. */
export type Sides = Readonly<Extract<RenderOptions['margin'], object>>

/** Maps each value of a resource to that of the HTTP API. */
export type Values<Value extends string> = Readonly<Record<string, Value>>

const ORIENTATION_VALUES = { Portrait: 'portrait', Landscape: 'landscape' } as const satisfies Values<Orientation>

const PAGE_SIZE_VALUES = {
  A3: 'A3',
  A4: 'A4',
  A5: 'A5',
  A6: 'A6',
  Letter: 'LETTER',
  Legal: 'LEGAL',
  Tabloid: 'TABLOID',
} as const satisfies Values<(typeof PAGE_SIZES)[number]>

const [, ownSize] = renderOptionsSchema.properties.page_size.anyOf

/** As spelled in the resource. There is no file name, which belongs to one render. */
export const templateOptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    pageSize: { anyOf: [{ type: 'string', enum: namesIn(PAGE_SIZE_VALUES) }, ownSize] },
    orientation: { type: 'string', enum: namesIn(ORIENTATION_VALUES) },
    margin: renderOptionsSchema.properties.margin,
  },
} as const

export type TemplateOptions = Readonly<FromSchema<typeof templateOptionsSchema>>

/** Descriptions in the definition of a Template. */
export const TEMPLATE_OPTION_TEXTS = {
  pageSize: `A named size (${namesIn(PAGE_SIZE_VALUES).join(', ')}), or width and height in points. Default is the size in the source, else A4.`,
  orientation: 'Orientation of the pages. Default is the orientation in the source, else Portrait.',
  margin:
    'Margins of the pages: points or a length such as 12mm for all sides, or a mapping of sides. Default is the margin in the source.',
} as const satisfies Readonly<Record<keyof TemplateOptions, string>>

export function renderOptionsOf({ pageSize, orientation, ...rest }: TemplateOptions): RenderOptions {
  return {
    ...(pageSize !== undefined && { page_size: typeof pageSize === 'string' ? PAGE_SIZE_VALUES[pageSize] : pageSize }),
    ...(orientation !== undefined && { orientation: ORIENTATION_VALUES[orientation] }),
    ...rest,
  }
}

/** A number is points already. Throws `RangeError` if a string has no unit of the schema of lengths. */
export function pointsOf(length: number | string): number {
  if (typeof length === 'number') return length
  const unit = length.slice(-2)
  const isUnit = (text: string): text is keyof typeof POINTS_PER_UNIT => Object.hasOwn(POINTS_PER_UNIT, text)
  if (!isUnit(unit)) throw new RangeError('a length needs one of the units pt, px, mm, cm, in')
  return Number(length.slice(0, -2)) * POINTS_PER_UNIT[unit]
}

function namesIn<Name extends string>(values: Readonly<Record<Name, string>>): readonly Name[] {
  // These mappings are constants, so they have no other keys.
  return Object.keys(values) as Name[]
}
