/** The steps of text layout as `@react-pdf/layout` imports them: those of react-pdf, save the ones defined here. See `install.ts`. */
import * as textkit from '@react-pdf/textkit'

export * from '@react-pdf/textkit'
// oxlint-disable-next-line import/no-default-export -- as the module has that this one stands for
export { default } from '@react-pdf/textkit'
export { justification } from './justification.ts'
export { linebreaker } from './linebreaker.ts'

/** react-pdf's own fails for a text that begins with soft hyphens. They have no glyph, so any font will do. */
export function fontSubstitution(): ReturnType<typeof textkit.fontSubstitution> {
  const substitute = textkit.fontSubstitution()
  return ({ string, runs }) =>
    substitute({ string: string.replace(/^\u00ad+/, (hyphens) => ' '.repeat(hyphens.length)), runs })
}
