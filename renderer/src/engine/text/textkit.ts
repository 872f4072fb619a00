/** The steps of text layout as `@react-pdf/layout` imports them: those of react-pdf, save the ones defined here. See `install.ts`. */
export * from '@react-pdf/textkit'
// oxlint-disable-next-line import/no-default-export -- as the module has that this one stands for
export { default } from '@react-pdf/textkit'
// Names of this module win over those that it passes on.
export { fontSubstitution } from './font-run.ts'
