/**
 * Values that resources spell as Kubernetes spells enums, in CamelCase, and everything else as the HTTP API does. The only place that maps
 * one to the other: `compile` applies it, and the definitions in `crds` allow exactly these values.
 */
import type { FromSchema } from 'json-schema-to-ts'
import { type Engine, PAGE_SIZES, type RenderOptions, renderOptionsSchema } from './render-options.ts'
import type { Environment, FontReference } from './tenant.ts'

export const ENGINE_VALUES = { ReactPdf: 'react_pdf', Html: 'html' } as const satisfies Values<Engine>
export const ENVIRONMENT_VALUES = { Live: 'live', Test: 'test' } as const satisfies Values<Environment>
export const FONT_STYLE_VALUES = { Normal: 'normal', Italic: 'italic' } as const satisfies Values<
  FontReference['style']
>

const ORIENTATION_VALUES = { Portrait: 'portrait', Landscape: 'landscape' } as const satisfies Values<
  NonNullable<RenderOptions['orientation']>
>

const PAGE_SIZE_VALUES = {
  A3: 'A3',
  A4: 'A4',
  A5: 'A5',
  A6: 'A6',
  Letter: 'LETTER',
  Legal: 'LEGAL',
  Tabloid: 'TABLOID',
} as const satisfies Values<(typeof PAGE_SIZES)[number]>

/** The value of the HTTP API for each value of a resource. */
type Values<Value extends string> = Readonly<Record<string, Value>>

const [, ownSize] = renderOptionsSchema.properties.page_size.anyOf

/** The options of a request that a template may set, as its resource spells them. A file name is of one render. */
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

/** What the definition of a Template says of each option. */
export const TEMPLATE_OPTION_TEXTS = {
  pageSize: `A named size (${namesIn(PAGE_SIZE_VALUES).join(', ')}), or width and height in points. Default is the size in the source, else A4.`,
  orientation: 'Orientation of the pages. Default is the orientation in the source, else Portrait.',
  margin:
    'Margins of the pages: points or a length such as 12mm for all sides, or a mapping of sides. Default is the margin in the source.',
} as const satisfies Readonly<Record<keyof TemplateOptions, string>>

/** The options of a template as requests spell them. */
export function renderOptionsOf({ pageSize, orientation, ...rest }: TemplateOptions): RenderOptions {
  return {
    ...(pageSize !== undefined && { page_size: typeof pageSize === 'string' ? PAGE_SIZE_VALUES[pageSize] : pageSize }),
    ...(orientation !== undefined && { orientation: ORIENTATION_VALUES[orientation] }),
    ...rest,
  }
}

/** The names of a mapping, with their type. */
function namesIn<Name extends string>(values: Readonly<Record<Name, string>>): readonly Name[] {
  // The mappings are constants, so they have no other keys.
  return Object.keys(values) as Name[]
}
