/**
 * Maps values that resources spell in CamelCase, as Kubernetes enums, to those of the HTTP API. `crds` allows exactly these values. Those
 * of options are in `render-options.ts`.
 */
import type { Engine, Values } from './render-options.ts'
import type { Environment, FontReference } from './tenant.ts'

export const ENGINE_VALUES = { ReactPdf: 'react_pdf', Html: 'html' } as const satisfies Values<Engine>
export const ENVIRONMENT_VALUES = { Live: 'live', Test: 'test' } as const satisfies Values<Environment>
export const FONT_STYLE_VALUES = { Normal: 'normal', Italic: 'italic' } as const satisfies Values<
  FontReference['style']
>
