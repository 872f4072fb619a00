/**
 * Puts our own steps of text layout in place of react-pdf's. `@react-pdf/layout` binds its steps when it is loaded and offers no way to
 * choose others, so the module that it imports them from is replaced.
 */
import { registerHooks } from 'node:module'

const STEPS = new URL('./textkit.ts', import.meta.url).href

/** Imports what `load` imports, with our steps in the text layout of react-pdf. Has no effect if its layout was loaded before. */
export async function withOwnTextLayout<Module>(load: () => Promise<Module>): Promise<Module> {
  const ownSteps = registerHooks({
    resolve(specifier, context, nextResolve) {
      const isReplaced =
        specifier === '@react-pdf/textkit' && context.parentURL?.includes('/@react-pdf/layout/') === true
      return nextResolve(isReplaced ? STEPS : specifier, context)
    },
  })
  try {
    return await load()
  } finally {
    ownSteps.deregister()
  }
}
