/** The steps of text layout as `@react-pdf/layout` imports them: those of react-pdf, save the ones defined here. See `install.ts`. */
import type { fontSubstitution as theirs } from '@react-pdf/textkit'
import { fontSubstitution as ours } from './font-run.ts'

export * from '@react-pdf/textkit'
// oxlint-disable-next-line import/no-default-export -- as the module has that this one stands for
export { default } from '@react-pdf/textkit'
export { justification } from './justification.ts'
export { linebreaker } from './linebreaker.ts'

/** A name of this module wins over the one that it passes on. Fonts of our chains are more than react-pdf's type says. */
export const fontSubstitution = ours as unknown as typeof theirs
