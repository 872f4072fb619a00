/**
 * react-pdf's text layout, as its own layout imports it, with our steps: which font has a character, where lines end, how a line fits its
 * box, and at which side it begins. See `../layout/correction.ts`.
 */
import layoutEngine, { type fontSubstitution as theirs } from '@react-pdf/textkit'
import { withSides } from './direction.ts'
import { fontSubstitution as ours } from './font-run.ts'

export * from '@react-pdf/textkit'
export { justification } from './justification.ts'
export { linebreaker } from './linebreaker.ts'

/** This export wins over the one of `export *`. Fonts of our chains have more members than react-pdf's type says. */
export const fontSubstitution = ours as unknown as typeof theirs

const textLayout: typeof layoutEngine = (engines) => {
  const layOut = layoutEngine(engines)
  return (text, ...others) => layOut(withSides(text), ...others)
}
// oxlint-disable-next-line import/no-default-export -- as the module has that this one stands for
export default textLayout
