/** The step of text layout that finds a font for each character. */
import { fontSubstitution as ownSubstitution } from '@react-pdf/textkit'

/** As react-pdf does, whose own fails for a text that begins with soft hyphens. They have no glyph, so any font will do. */
export function fontSubstitution(): ReturnType<typeof ownSubstitution> {
  const substitute = ownSubstitution()
  return ({ string, runs }) =>
    substitute({ string: string.replace(/^\u00ad+/, (hyphens) => ' '.repeat(hyphens.length)), runs })
}
